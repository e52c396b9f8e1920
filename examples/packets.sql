-- Who sends most, and how much there is of each protocol: two queries that share nothing,
-- and one that shares the slices of the second.
CREATE STREAM packets (
  ts TIMESTAMP, src STRING, dst STRING, proto STRING, port INT, length BIGINT
) ORDER BY ts
  SOURCE 'generate:packets?rate=2000&duration=60s&hosts=100&seed=7&disorder=2s'
  WITH (lateness = '2 seconds');

CREATE QUERY top_talkers AS
SELECT src, SUM(length) AS bytes, COUNT(*) AS packets
FROM packets [RANGE 30 SECONDS SLIDE 15 SECONDS]
GROUP BY src ORDER BY bytes DESC LIMIT 3;

CREATE QUERY by_protocol AS
SELECT proto, COUNT(*) AS packets, ROUND(AVG(length), 1) AS mean_length
FROM packets [RANGE 20 SECONDS SLIDE 20 SECONDS]
GROUP BY proto ORDER BY proto;

CREATE QUERY protocol_peaks AS
SELECT proto, MAX(length) AS longest
FROM packets [RANGE 1 MINUTE SLIDE 30 SECONDS]
GROUP BY proto HAVING COUNT(*) > 100 ORDER BY proto;
