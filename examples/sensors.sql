-- Sensor readings as CSV, one file a tick. The second file holds a line that does not parse
-- and a reading that is later than the stream allows; both are set aside and counted.
SET tick_files = 1;

CREATE STREAM readings (ts TIMESTAMP, sensor STRING, celsius DOUBLE)
  ORDER BY ts
  SOURCE 'csv:data/sensors?header=true'
  WITH (lateness = '10 seconds');

CREATE QUERY mean_temperature AS
SELECT sensor, ROUND(AVG(celsius), 2) AS celsius, COUNT(celsius) AS readings
FROM readings [RANGE 1 MINUTE SLIDE 30 SECONDS]
GROUP BY sensor ORDER BY sensor;

-- A reading without a value is a row, but no value: COUNT(*) sees it, COUNT(celsius) does not.
CREATE QUERY silent AS
SELECT sensor, COUNT(*) - COUNT(celsius) AS missing
FROM readings [RANGE 1 MINUTE SLIDE 1 MINUTE]
GROUP BY sensor HAVING COUNT(*) > COUNT(celsius);
