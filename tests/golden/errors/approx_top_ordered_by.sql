CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT, length BIGINT) ORDER BY ts SOURCE 'parquet:/in';
CREATE QUERY q AS
SELECT src, APPROX_TOP_K(port, 3) AS a
FROM packets [RANGE 1 min SLIDE 1 s] GROUP BY src ORDER BY a;
