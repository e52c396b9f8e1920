CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT, length BIGINT, ok BOOLEAN, note STRING)
  ORDER BY ts SOURCE 'parquet:data';
CREATE STREAM sums AS SELECT src, SUM(length) AS bytes FROM packets [RANGE 1 MINUTE SLIDE UP TO 5 SECONDS] GROUP BY src;
