CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT, length BIGINT, ok BOOLEAN, note STRING)
  ORDER BY ts SOURCE 'parquet:data';
CREATE QUERY q WITH (priority = high) AS SELECT COUNT(*) AS n FROM packets [RANGE 30 SECONDS];
