CREATE STREAM packets (ts TIMESTAMP, src STRING)
  ORDER BY ts SOURCE 'parquet:data' WITH (lateness = '5 seconds', correct = '-1 minute');
