CREATE STREAM flows (ts TIMESTAMP, src STRING, port INT, length BIGINT) ORDER BY ts SOURCE 'parquet:data';
CREATE STREAM dns (ts TIMESTAMP, client STRING, port BIGINT, ttl INT) ORDER BY ts SOURCE 'parquet:data';
CREATE QUERY q AS SELECT COUNT(*) AS n FROM flows AS f
JOIN dns [RANGE 30 SECONDS SLIDE 1 SECOND] AS d ON f.src = d.client;
