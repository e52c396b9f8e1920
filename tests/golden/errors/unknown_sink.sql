CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT, length BIGINT, ok BOOLEAN, note STRING)
  ORDER BY ts SOURCE 'parquet:data';
CREATE SINK results TO 'discard:';
CREATE QUERY q INTO result AS SELECT COUNT(*) AS n FROM packets [RANGE 30 SECONDS SLIDE 5 SECONDS];
