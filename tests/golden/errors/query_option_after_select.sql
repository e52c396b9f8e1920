CREATE STREAM packets (ts TIMESTAMP, src STRING) ORDER BY ts SOURCE 'parquet:data';
CREATE QUERY q AS SELECT src, COUNT(*) AS n FROM packets [RANGE 30 SECONDS] GROUP BY src WITH (priority = 5);
