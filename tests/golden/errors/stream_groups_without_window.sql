CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT, length BIGINT, ok BOOLEAN, note STRING)
  ORDER BY ts SOURCE 'parquet:data';
CREATE STREAM sums AS SELECT ts, src FROM packets GROUP BY src;
