-- A recording played back: rows arrive as they once did, thirty times faster, so the two minutes
-- of the sensors' data take four seconds. `speed=0` would not wait at all.
CREATE STREAM readings (ts TIMESTAMP, sensor STRING, celsius DOUBLE)
  ORDER BY ts
  SOURCE 'replay:data/sensors?speed=30&header=true';

CREATE QUERY warmest AS
SELECT sensor, MAX(celsius) AS celsius
FROM readings [RANGE 30 SECONDS SLIDE 10 SECONDS]
GROUP BY sensor ORDER BY celsius DESC LIMIT 1;
