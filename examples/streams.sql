-- Streams made of streams: large packets, those of known services, and among these the web's.
-- Nothing of them is stored; the packets are read once for all three queries.
CREATE STREAM packets (ts TIMESTAMP, src STRING, proto STRING, port INT, length BIGINT)
  ORDER BY ts
  SOURCE 'generate:packets?rate=2000&duration=60s&hosts=100&seed=7';

CREATE TABLE services (port INT, service STRING, secure BOOLEAN)
  SOURCE 'csv:data/services.csv?header=true';

CREATE STREAM big AS
SELECT ts, src, proto, port, length AS bytes FROM packets WHERE length > 1000;

CREATE STREAM served AS
SELECT ts AS at, big.*, service FROM big JOIN services USING (port);

CREATE STREAM web AS
SELECT at, src AS sender, service, bytes AS size FROM served WHERE service = 'http';

CREATE QUERY big_by_protocol AS
SELECT proto, COUNT(*) AS packets FROM big [RANGE 20 SECONDS SLIDE 20 SECONDS]
GROUP BY proto ORDER BY proto;

CREATE QUERY by_service AS
SELECT service, SUM(bytes) AS bytes FROM served [RANGE 30 SECONDS SLIDE 15 SECONDS]
GROUP BY service ORDER BY bytes DESC LIMIT 3;

CREATE QUERY web_senders AS
SELECT sender, SUM(size) AS bytes FROM web [RANGE 30 SECONDS SLIDE 15 SECONDS]
GROUP BY sender ORDER BY bytes DESC LIMIT 3;
