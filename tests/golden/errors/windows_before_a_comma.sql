CREATE STREAM flows (ts TIMESTAMP, src STRING, port INT, length BIGINT) ORDER BY ts SOURCE 'parquet:data';
CREATE STREAM dns (ts TIMESTAMP, client STRING, port BIGINT, ttl INT) ORDER BY ts SOURCE 'parquet:data';
CREATE QUERY q AS SELECT COUNT(*) AS n FROM flows [RANGE 1 MINUTE SLIDE 10 SECONDS] AS f,
dns [RANGE 30 SECONDS] AS d JOIN dns [RANGE 10 SECONDS] AS e ON f.src = e.client
WHERE d.client = f.src;
