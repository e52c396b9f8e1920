CREATE STREAM packets (ts TIMESTAMP, length BIGINT)
  ORDER BY ts SOURCE 'parquet:data';
CREATE QUERY q AS
SELECT SMU(length) AS n FROM packets [RANGE 5 s SLIDE 5 s];
