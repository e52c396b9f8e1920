CREATE STREAM flows (ts TIMESTAMP, src STRING, port INT, length BIGINT) ORDER BY ts SOURCE 'parquet:data';
CREATE STREAM dns (ts TIMESTAMP, client STRING, port BIGINT, ttl INT) ORDER BY ts SOURCE 'parquet:data';
SELECT f.src FROM flows [RANGE 1 MINUTE] AS f, dns [NOW] AS d WHERE f.src = d.client;
