-- Rows are made of a window once, so its answer must not come again.
CREATE STREAM packets (ts TIMESTAMP, length BIGINT) ORDER BY ts SOURCE 'generate:packets?rows=10' WITH (correct = '1 minute');
CREATE STREAM sums AS SELECT SUM(length) AS bytes FROM packets [RANGE 1 MINUTE SLIDE 1 MINUTE];
