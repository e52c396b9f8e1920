-- Readings of sensors again: one comes more than half a minute late. Its windows have closed by
-- then; `correct` answers them again, with a revision, or withdraws what no longer holds.
SET tick_files = 1;

CREATE STREAM readings (ts TIMESTAMP, sensor STRING, celsius DOUBLE)
  ORDER BY ts
  SOURCE 'csv:data/sensors?header=true'
  WITH (lateness = '10 seconds', correct = '1 minute');

CREATE QUERY coldest AS
SELECT MIN(celsius) AS celsius, COUNT(*) AS readings
FROM readings [RANGE 30 SECONDS SLIDE 30 SECONDS];

-- Nothing was near freezing, as far as was known.
CREATE QUERY safe AS
SELECT MIN(celsius) AS celsius
FROM readings [RANGE 30 SECONDS SLIDE 30 SECONDS] HAVING MIN(celsius) > 2.5;
