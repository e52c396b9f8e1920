-- Answers as streams: sums of a second, of which each ten seconds have a largest and a mean one, and
-- the packets that came too late for any of them.
CREATE STREAM packets (ts TIMESTAMP, src STRING, proto STRING, length BIGINT)
  ORDER BY ts
  SOURCE 'generate:packets?rate=500&duration=60s&hosts=100&seed=7&disorder=2s'
  WITH (lateness = '1 second');

CREATE STREAM per_second AS
SELECT proto, SUM(length) AS bytes, COUNT(*) AS packets
FROM packets [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY proto;

CREATE QUERY bursts AS
SELECT proto, MAX(bytes) AS largest, AVG(bytes) AS mean, SUM(packets) AS packets
FROM per_second [RANGE 10 SECONDS SLIDE 10 SECONDS]
GROUP BY proto ORDER BY proto;

-- A stream of answers over a stream of answers.
CREATE STREAM per_ten AS
SELECT SUM(bytes) AS bytes FROM per_second [RANGE 10 SECONDS SLIDE 10 SECONDS];

CREATE QUERY busiest AS
SELECT MAX(bytes) AS bytes FROM per_ten [RANGE 30 SECONDS SLIDE 30 SECONDS];

CREATE QUERY lost AS
SELECT ts, src, length, late_by_us FROM packets.late;
