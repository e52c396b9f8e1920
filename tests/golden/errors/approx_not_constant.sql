CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT, length BIGINT) ORDER BY ts SOURCE 'parquet:/in';
CREATE QUERY q AS
SELECT APPROX_COUNT(port, length) AS a FROM packets [RANGE 1 min SLIDE 1 s];
