CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT, length BIGINT, ok BOOLEAN, note STRING)
  ORDER BY ts SOURCE 'parquet:data';
CREATE STREAM named AS SELECT *, src AS who FROM packets;
CREATE OR REPLACE STREAM packets (ts TIMESTAMP, src STRING, port INT, length BIGINT, ok BOOLEAN, note STRING, who STRING)
  ORDER BY ts SOURCE 'parquet:data';
