CREATE STREAM flows (ts TIMESTAMP, src STRING, port INT, length BIGINT) ORDER BY ts SOURCE 'parquet:data';
CREATE STREAM dns (ts TIMESTAMP, client STRING, port BIGINT, ttl INT) ORDER BY ts SOURCE 'parquet:data';
CREATE STREAM pairs AS SELECT f.src, COUNT(*) AS n FROM flows [RANGE 1 MINUTE] AS f
JOIN dns [RANGE 1 DAY] AS d ON f.src = d.client GROUP BY f.src;
CREATE QUERY q AS SELECT COUNT(*) AS n FROM pairs [RANGE 1 MINUTE SLIDE 1 MINUTE];
