-- Two logs of one network, joined by host: lookups of names, and what a network monitor found odd.
-- The files beside this script are a short made-up sample; zeek_to_csv.py makes the same of logs of Zeek.
CREATE STREAM dns (ts TIMESTAMP, client STRING, query STRING, rcode INT)
  ORDER BY ts SOURCE 'csv:data/zeek/dns?header=true' WITH (lateness = '700 seconds');
CREATE STREAM weird (ts TIMESTAMP, host STRING, name STRING)
  ORDER BY ts SOURCE 'csv:data/zeek/weird?header=true' WITH (lateness = '5 seconds');

-- Odd events of hosts whose lookups failed within the minute before.
CREATE QUERY odd_and_failing AS
SELECT w.host, COUNT(*) AS events, COUNT(DISTINCT w.name) AS kinds
FROM weird [RANGE 30 SECONDS SLIDE 30 SECONDS] AS w
WHERE EXISTS (SELECT 1 FROM dns [RANGE 1 MINUTE] AS d WHERE d.client = w.host AND d.rcode <> 0)
GROUP BY w.host ORDER BY events DESC LIMIT 3;

-- Odd events beside the names that the same host asked for: no row of this join is ever made.
CREATE QUERY events_and_lookups AS
SELECT w.host, COUNT(*) AS pairs, COUNT(DISTINCT d.query) AS names, MAX(d.rcode) AS worst
FROM weird [RANGE 30 SECONDS SLIDE 30 SECONDS] AS w JOIN dns [RANGE 1 MINUTE] AS d ON w.host = d.client
GROUP BY w.host ORDER BY pairs DESC LIMIT 3;

-- Hosts with odd events and no lookup at all.
CREATE QUERY silent_but_odd AS
SELECT w.host, COUNT(*) AS events
FROM weird [RANGE 30 SECONDS SLIDE 30 SECONDS] AS w
WHERE NOT EXISTS (SELECT 1 FROM dns [RANGE 5 MINUTES] AS d WHERE d.client = w.host)
GROUP BY w.host ORDER BY events DESC LIMIT 3;
