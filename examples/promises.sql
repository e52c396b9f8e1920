-- A source that falls silent. The meters of a house tell every two seconds, its doors only when they
-- move. What is put together of both waits for the doors: from outside, nothing to tell looks like
-- dead or slow. `skew` declares that no row is under way two seconds longer than those before it; so
-- two seconds after a look that found none, time goes on by the clock, and answers come without them.
--
-- The clock has its say in live runs alone. So run this without --flush, and end it with Ctrl-C:
--
--     tidemill run promises.sql
--
-- For half a minute a row leaves every two seconds, and a window closes every ten. Meanwhile ask the
-- run, from a second terminal, who waits for whom:
--
--     tidemill sql -c "SHOW SOURCES; SHOW QUERIES" --home .tidemill/promises
CREATE STREAM meters (ts TIMESTAMP, room STRING, watts BIGINT)
  ORDER BY ts
  SOURCE 'csv:data/house/meters?header=true';

CREATE STREAM doors (ts TIMESTAMP, room STRING, door STRING)
  ORDER BY ts
  SOURCE 'csv:data/house/doors?header=true'
  WITH (skew = '2 seconds');

CREATE STREAM signs AS
SELECT ts, room FROM meters
UNION ALL
SELECT ts, room FROM doors;

-- Over one source: the column `waits for` names `meters`, and its last window waits for good.
CREATE QUERY power AS
SELECT AVG(watts) AS watts FROM meters [RANGE 10 SECONDS SLIDE 10 SECONDS];

-- Over both: these wait for `doors`, a window for its end to be promised, a row for its time.
CREATE QUERY liveliest AS
SELECT room, COUNT(*) AS signs FROM signs [RANGE 10 SECONDS SLIDE 10 SECONDS]
GROUP BY room ORDER BY signs DESC, room LIMIT 1;

CREATE QUERY in_order AS SELECT ts, room FROM signs ORDER BY ts;

-- Where the home has run before, this tells how that run left it.
SHOW SOURCES;
SHOW QUERIES;
