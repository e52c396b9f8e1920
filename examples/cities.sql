-- Two cities' packets in one stream. Each row is read once, for its city's query and for that of both.
CREATE STREAM berlin (ts TIMESTAMP, src STRING, proto STRING, length BIGINT)
  ORDER BY ts
  SOURCE 'generate:packets?rate=2000&duration=60s&hosts=100&seed=7'
  WITH (lateness = '1 second');

CREATE STREAM paris (ts TIMESTAMP, src STRING, proto STRING, length BIGINT)
  ORDER BY ts
  SOURCE 'generate:packets?rate=500&duration=60s&hosts=100&seed=8'
  WITH (lateness = '1 second');

-- Columns are taken by place and have the names of the first SELECT.
CREATE STREAM both AS
SELECT ts, src, proto, length AS bytes FROM berlin
UNION ALL
SELECT ts, src, proto, length FROM paris WHERE length > 60;

CREATE QUERY in_berlin AS
SELECT proto, COUNT(*) AS packets FROM berlin [RANGE 30 SECONDS SLIDE 30 SECONDS]
GROUP BY proto ORDER BY packets DESC LIMIT 2;

CREATE QUERY in_both AS
SELECT proto, COUNT(*) AS packets FROM both [RANGE 30 SECONDS SLIDE 30 SECONDS]
GROUP BY proto ORDER BY packets DESC LIMIT 2;

-- The large ones of both, in the order of time.
CREATE SINK large TO 'json:large.jsonl';
CREATE QUERY in_order INTO large AS SELECT ts, src, bytes FROM both WHERE bytes > 1490 ORDER BY ts;
