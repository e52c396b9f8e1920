CREATE STREAM packets (ts TIMESTAMP, src STRING) ORDER BY ts SOURCE 'parquet:data' WITH (latenes = '2 seconds');
