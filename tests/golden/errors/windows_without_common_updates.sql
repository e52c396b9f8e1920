CREATE STREAM flows (ts TIMESTAMP, src STRING, port INT, length BIGINT) ORDER BY ts SOURCE 'parquet:data'
  WITH (update = '3 seconds');
CREATE STREAM dns (ts TIMESTAMP, client STRING, port BIGINT, ttl INT) ORDER BY ts SOURCE 'parquet:data' WITH (update = '2 seconds');
CREATE QUERY q AS SELECT COUNT(*) AS n FROM flows [RANGE 1 MINUTE] AS f
JOIN dns [RANGE 30 SECONDS] AS d ON f.src = d.client;
