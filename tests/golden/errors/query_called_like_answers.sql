CREATE STREAM packets (ts TIMESTAMP, length BIGINT) ORDER BY ts SOURCE 'parquet:data';
CREATE QUERY `stream sums` AS SELECT COUNT(*) AS n FROM packets [RANGE 1 HOUR SLIDE 1 HOUR];
