CREATE STREAM flows (ts TIMESTAMP, src STRING, port INT, length BIGINT) ORDER BY ts SOURCE 'parquet:data';
CREATE STREAM dns (ts TIMESTAMP, client STRING, port BIGINT, ttl INT) ORDER BY ts SOURCE 'parquet:data';
CREATE QUERY q AS SELECT f.src, d.ttl FROM flows [RANGE 1 MINUTE] AS f, dns [RANGE 30 SECONDS] AS d WHERE f.port > 80;
