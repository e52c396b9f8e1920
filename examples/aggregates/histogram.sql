-- How long the packets of each protocol are, in sixteen ranges from 0 to 1,600 bytes.
-- Run it with: tidemill run examples/aggregates/histogram.sql --flush

CREATE AGGREGATE histogram SOURCE 'python:histogram.py';

CREATE STREAM packets (
  ts TIMESTAMP, src STRING, dst STRING, proto STRING, port INT, length BIGINT
) ORDER BY ts SOURCE 'generate:packets?rate=500&duration=60s&hosts=20&seed=4';

CREATE QUERY lengths AS
SELECT proto, histogram(length) AS packets
FROM packets [RANGE 30 SECONDS SLIDE 10 SECONDS]
GROUP BY proto;

CREATE QUERY short_ones AS
SELECT histogram(length, low => 0, high => 160) AS packets, COUNT(*) AS of_all
FROM packets [RANGE 20 SECONDS SLIDE 20 SECONDS];
