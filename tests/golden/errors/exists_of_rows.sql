CREATE STREAM flows (ts TIMESTAMP, src STRING, port INT, length BIGINT) ORDER BY ts SOURCE 'parquet:data';
CREATE STREAM dns (ts TIMESTAMP, client STRING, port BIGINT, ttl INT) ORDER BY ts SOURCE 'parquet:data';
CREATE QUERY q AS SELECT * FROM flows AS f
WHERE EXISTS (SELECT 1 FROM dns [RANGE 1 MINUTE] AS d WHERE d.client = f.src);
