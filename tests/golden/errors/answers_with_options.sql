CREATE STREAM s (ts TIMESTAMP, n INT) ORDER BY ts SOURCE 'parquet:in';
CREATE STREAM sums AS SELECT SUM(n) AS n FROM s [RANGE 1 h SLIDE 1 h] WITH (lateness = '1 s');
