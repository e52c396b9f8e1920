CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT, length BIGINT, ok BOOLEAN, note STRING)
  ORDER BY ts SOURCE 'parquet:data';
CREATE QUERY q AS SELECT FREQUENT(port, 5, subwindow => '4 seconds') AS f FROM packets [RANGE 30 SECONDS SLIDE 5 SECONDS];
