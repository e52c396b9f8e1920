-- A network monitor's standing queries over one stream of packets.
CREATE STREAM packets (
  ts TIMESTAMP, src STRING, dst STRING, proto STRING, port INT, length BIGINT
) ORDER BY ts
  SOURCE 'generate:packets?rate=20000&duration=120s&hosts=500&seed=7&disorder=2s'
  WITH (lateness = '2 seconds');

CREATE SINK results TO 'parquet:answers';

-- How much, over several lengths of time.
CREATE QUERY traffic_5s INTO results AS
SELECT COUNT(*) AS packets, SUM(length) AS bytes
FROM packets [RANGE 5 SECONDS SLIDE 5 SECONDS];

CREATE QUERY traffic_1m INTO results AS
SELECT COUNT(*) AS packets, SUM(length) AS bytes, AVG(length) AS mean_length
FROM packets [RANGE 1 MINUTE SLIDE 10 SECONDS];

CREATE QUERY by_protocol INTO results AS
SELECT proto, COUNT(*) AS packets, SUM(length) AS bytes
FROM packets [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY proto;

CREATE QUERY protocol_extremes INTO results AS
SELECT proto, MIN(length) AS shortest, MAX(length) AS longest
FROM packets [RANGE 30 SECONDS SLIDE 7 SECONDS] GROUP BY proto;

-- Who, and how much of it.
CREATE QUERY top_talkers INTO results AS
SELECT src, SUM(length) AS bytes, COUNT(*) AS packets
FROM packets [RANGE 30 SECONDS SLIDE 5 SECONDS]
GROUP BY src ORDER BY bytes DESC LIMIT 5;

CREATE QUERY top_talkers_1m INTO results AS
SELECT src, SUM(length) AS bytes, ROUND(SUM(length) * 8 / 60 / 1000, 1) AS kbit_per_second
FROM packets [RANGE 1 MINUTE SLIDE 20 SECONDS]
GROUP BY src ORDER BY bytes DESC LIMIT 3;

CREATE QUERY quiet_hosts INTO results AS
SELECT src, COUNT(*) AS packets
FROM packets [RANGE 45 SECONDS SLIDE 15 SECONDS]
GROUP BY src HAVING COUNT(*) < 150;

CREATE QUERY busiest_targets INTO results AS
SELECT dst, COUNT(*) AS packets
FROM packets [RANGE 20 SECONDS SLIDE 10 SECONDS]
GROUP BY dst ORDER BY packets DESC LIMIT 5;

-- What for.
CREATE QUERY web_ports INTO results AS
SELECT port, COUNT(*) AS packets, SUM(length) AS bytes
FROM packets [RANGE 15 SECONDS SLIDE 5 SECONDS]
WHERE proto = 'TCP' AND port IN (80, 443, 8080) GROUP BY port;

CREATE QUERY dns_load INTO results AS
SELECT COUNT(*) AS requests, MAX(length) AS longest
FROM packets [RANGE 10 SECONDS SLIDE 2 SECONDS]
WHERE proto = 'UDP' AND port = 53;

CREATE QUERY remote_logins INTO results AS
SELECT src, dst, COUNT(*) AS packets, MAX(ts) AS latest
FROM packets [RANGE 1 MINUTE SLIDE 30 SECONDS]
WHERE port IN (22, 3389) GROUP BY src, dst
HAVING COUNT(*) >= 20 ORDER BY packets DESC LIMIT 10;

-- A sample: two seconds out of every ten.
CREATE QUERY sampled_sizes INTO results AS
SELECT CASE WHEN length < 200 THEN 'small' WHEN length < 1000 THEN 'medium' ELSE 'large' END AS size,
       COUNT(*) AS packets
FROM packets [RANGE 2 SECONDS SLIDE 10 SECONDS]
GROUP BY CASE WHEN length < 200 THEN 'small' WHEN length < 1000 THEN 'medium' ELSE 'large' END;
