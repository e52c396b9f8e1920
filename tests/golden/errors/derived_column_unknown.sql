CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT, length BIGINT, ok BOOLEAN, note STRING)
  ORDER BY ts SOURCE 'parquet:data';
CREATE STREAM big AS SELECT ts, src, length AS bytes FROM packets WHERE length > 1000;
CREATE QUERY q AS SELECT src, SUM(bites) AS b FROM big [RANGE 30 SECONDS SLIDE 5 SECONDS] GROUP BY src;
