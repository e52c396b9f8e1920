-- RFID reads as JSON lines. Readers see a tag many times while it lies there and miss it now
-- and then; a tag counts as present in a window when it was read at least twice in it.
CREATE STREAM reads (ts TIMESTAMP, reader STRING, tag STRING, signal INT)
  ORDER BY ts
  SOURCE 'json:data/rfid'
  WITH (lateness = '1 second');

CREATE SINK shelf TO 'json:shelf.jsonl';

CREATE QUERY present INTO shelf AS
SELECT reader, tag, COUNT(*) AS times, MAX(signal) AS strongest
FROM reads [RANGE 10 SECONDS SLIDE 5 SECONDS]
GROUP BY reader, tag
HAVING COUNT(*) >= 2 ORDER BY reader, tag;

CREATE QUERY reader_load AS
SELECT reader, COUNT(*) AS reads_seen, MIN(ts) AS first_read, MAX(ts) AS last_read
FROM reads [RANGE 15 SECONDS SLIDE 15 SECONDS]
GROUP BY reader ORDER BY reader;
