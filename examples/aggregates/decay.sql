-- A mean that forgets: of each protocol, the length of packets lately, beside the plain mean.
-- Run it with: tidemill run examples/aggregates/decay.sql --flush

CREATE AGGREGATE decayed_mean SOURCE 'python:decay.py';

CREATE STREAM packets (
  ts TIMESTAMP, src STRING, dst STRING, proto STRING, port INT, length BIGINT
) ORDER BY ts SOURCE 'generate:packets?rate=500&duration=60s&hosts=20&seed=4';

CREATE QUERY lately AS
SELECT proto, AVG(length) AS mean, decayed_mean(length, half_life => 5) AS lately
FROM packets [RANGE 30 SECONDS SLIDE 10 SECONDS]
GROUP BY proto;

-- The same aggregate with the same constant over another window: both read one synopsis.
CREATE QUERY lately_in_all AS
SELECT decayed_mean(length, half_life => 5) AS lately
FROM packets [RANGE 20 SECONDS SLIDE 20 SECONDS];
