CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT, length BIGINT, ok BOOLEAN, note STRING)
  ORDER BY ts SOURCE 'parquet:data';
CREATE STREAM big AS SELECT ts, length FROM packets WHERE length > 1000;
CREATE QUERY q AS SELECT COUNT(*) AS n FROM big.late [RANGE 1 HOUR SLIDE 1 HOUR];
