-- Answers over a stream that corrects have columns of their own.
CREATE STREAM packets (ts TIMESTAMP, revision INT) ORDER BY ts SOURCE 'generate:packets?rows=10' WITH (correct = '1 minute');
CREATE QUERY q AS SELECT revision, COUNT(*) AS c FROM packets [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY revision;
