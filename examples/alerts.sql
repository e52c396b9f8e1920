-- Rows without windows: readings that are too warm leave as they come, and all of them in the order of time.
CREATE STREAM readings (ts TIMESTAMP, sensor STRING, celsius DOUBLE)
  ORDER BY ts
  SOURCE 'csv:data/sensors?header=true'
  WITH (lateness = '1 minute');

CREATE QUERY warm AS
SELECT ts, sensor, celsius, celsius * 9 / 5 + 32 AS fahrenheit
FROM readings
WHERE celsius > 11.45;

CREATE QUERY in_order AS
SELECT ts, sensor, celsius FROM readings
WHERE celsius IS NOT NULL
ORDER BY ts;
