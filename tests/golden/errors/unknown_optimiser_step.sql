CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT, length BIGINT, ok BOOLEAN, note STRING)
  ORDER BY ts SOURCE 'parquet:data';
SET steps_off = 'covers, group_by_trees';
