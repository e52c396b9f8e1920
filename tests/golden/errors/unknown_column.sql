CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT, length BIGINT, ok BOOLEAN, note STRING)
  ORDER BY ts SOURCE 'parquet:data';
CREATE QUERY q AS
SELECT src, SUM(lenght) AS bytes
FROM packets [RANGE 30 SECONDS SLIDE 5 SECONDS]
GROUP BY src;
