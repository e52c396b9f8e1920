-- Nor can the stream below begin to correct.
CREATE STREAM packets (ts TIMESTAMP, length BIGINT) ORDER BY ts SOURCE 'generate:packets?rows=10';
CREATE STREAM sums AS SELECT SUM(length) AS bytes FROM packets [RANGE 1 MINUTE SLIDE 1 MINUTE];
CREATE OR REPLACE STREAM packets (ts TIMESTAMP, length BIGINT) ORDER BY ts SOURCE 'generate:packets?rows=10' WITH (correct = '1 minute');
