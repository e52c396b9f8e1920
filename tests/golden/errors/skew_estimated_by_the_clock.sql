CREATE STREAM s (ts TIMESTAMP, n BIGINT) ORDER BY ts
  SOURCE 'csv:data' WITH (skew = 'auto', clock = 'wall');
