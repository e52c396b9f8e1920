CREATE STREAM packets (ts TIMESTAMP, src STRING, SRC STRING)
  ORDER BY ts SOURCE 'parquet:data';
