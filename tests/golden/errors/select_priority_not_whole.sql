CREATE STREAM packets (ts TIMESTAMP, src STRING) ORDER BY ts SOURCE 'parquet:data';
SELECT COUNT(*) AS n FROM packets [RANGE 30 SECONDS SLIDE 5 SECONDS] WITH (priority = high);
