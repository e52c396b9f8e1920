-- Hosts that send many more packets than the usual fifty a second, the oddest first.
-- Run it with: tidemill run examples/aggregates/burst.sql --flush

CREATE AGGREGATE burst_score SOURCE 'python:burst.py#BurstScore';

CREATE STREAM packets (
  ts TIMESTAMP, src STRING, dst STRING, proto STRING, port INT, length BIGINT
) ORDER BY ts SOURCE 'generate:packets?rate=500&duration=60s&hosts=20&seed=4';

CREATE QUERY bursts AS
SELECT src, COUNT(*) AS packets, burst_score(1, usual => 50) AS score
FROM packets [RANGE 10 SECONDS SLIDE 5 SECONDS]
GROUP BY src
HAVING burst_score(1, usual => 50) > 0
ORDER BY score DESC LIMIT 3;
