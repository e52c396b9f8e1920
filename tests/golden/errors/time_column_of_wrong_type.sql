CREATE STREAM packets (ts STRING, src STRING) ORDER BY ts SOURCE 'parquet:data';
