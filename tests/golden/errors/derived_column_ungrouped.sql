CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT, length BIGINT, ok BOOLEAN, note STRING)
  ORDER BY ts SOURCE 'parquet:data';
CREATE STREAM big AS SELECT ts, src, length * 8 AS bits FROM packets;
CREATE QUERY q AS SELECT src, bits FROM big [RANGE 30 SECONDS SLIDE 5 SECONDS] GROUP BY src;
