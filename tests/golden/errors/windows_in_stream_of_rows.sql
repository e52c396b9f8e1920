CREATE STREAM flows (ts TIMESTAMP, src STRING, port INT, length BIGINT) ORDER BY ts SOURCE 'parquet:data';
CREATE STREAM dns (ts TIMESTAMP, client STRING, port BIGINT, ttl INT) ORDER BY ts SOURCE 'parquet:data';
CREATE STREAM pairs AS SELECT f.ts, d.ttl FROM flows AS f
JOIN dns [RANGE 30 SECONDS] AS d ON f.src = d.client;
