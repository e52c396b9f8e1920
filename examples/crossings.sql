-- Changes in place of lists: which senders have just passed a threshold, which have fallen below it, and the
-- services that are in use, each once.
CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT, length BIGINT)
  ORDER BY ts SOURCE 'generate:packets?rate=200&duration=30s&hosts=20&seed=7';

CREATE QUERY louder AS
SELECT ISTREAM(src)
FROM packets [RANGE 10 SECONDS SLIDE 5 SECONDS]
GROUP BY src HAVING SUM(length) > 150000;

CREATE QUERY quieter AS
SELECT DSTREAM(src)
FROM packets [RANGE 10 SECONDS SLIDE 5 SECONDS]
GROUP BY src HAVING SUM(length) > 150000;

CREATE QUERY fresh_ports AS
SELECT ISTREAM(DISTINCT port)
FROM packets [RANGE 10 SECONDS SLIDE 5 SECONDS] WHERE length < 45;
