CREATE STREAM `packets.late` (ts TIMESTAMP, length BIGINT) ORDER BY ts SOURCE 'parquet:data';
