CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT, length BIGINT, ok BOOLEAN, note STRING)
  ORDER BY ts SOURCE 'parquet:data';
CREATE STREAM sums AS SELECT src, SUM(length) AS bytes FROM packets [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY src;
PAUSE QUERY sums;
