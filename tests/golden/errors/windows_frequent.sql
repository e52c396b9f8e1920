CREATE STREAM flows (ts TIMESTAMP, src STRING, port INT, length BIGINT) ORDER BY ts SOURCE 'parquet:data';
CREATE STREAM dns (ts TIMESTAMP, client STRING, port BIGINT, ttl INT) ORDER BY ts SOURCE 'parquet:data';
CREATE QUERY q AS SELECT f.src, FREQUENT(d.ttl, 5) AS m FROM flows [RANGE 1 MINUTE SLIDE 10 SECONDS] AS f
JOIN dns [RANGE 30 SECONDS] AS d ON f.src = d.client
GROUP BY f.src;
