CREATE STREAM packets (ts TIMESTAMP, src VARCHAR2) ORDER BY ts SOURCE 'parquet:data';
