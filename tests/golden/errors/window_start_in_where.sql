CREATE STREAM packets (ts TIMESTAMP, src STRING, length BIGINT)
  ORDER BY ts SOURCE 'parquet:data';
CREATE QUERY q AS
SELECT SUM(length) AS n FROM packets [RANGE 1 SECOND SLIDE 1 SECOND]
WHERE window_start > ts;
