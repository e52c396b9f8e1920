-- Rows that meet: what a room's meter read within ten seconds after its door had moved.
CREATE STREAM doors (ts TIMESTAMP, room STRING, door STRING)
  ORDER BY ts SOURCE 'csv:data/house/doors?header=true';

CREATE STREAM meters (ts TIMESTAMP, room STRING, watts BIGINT)
  ORDER BY ts SOURCE 'csv:data/house/meters?header=true';

-- Each pair once, as its meter reads. It ends at once: a row of [NOW] lives for no time.
CREATE QUERY after AS
SELECT d.room, d.door, m.watts
FROM doors [RANGE 10 SECONDS] AS d, meters [NOW] AS m
WHERE d.room = m.room AND m.watts > 30;

-- Doors that were closed and opened within five seconds: told as the first of both is that old.
CREATE QUERY moved AS
SELECT DSTREAM(a.room, a.door AS first, b.door AS second)
FROM doors [RANGE 5 SECONDS] AS a JOIN doors [RANGE 5 SECONDS] AS b ON a.room = b.room
WHERE a.door < b.door;
