CREATE AGGREGATE total SOURCE 'python:total.py';
CREATE STREAM packets (ts TIMESTAMP, src STRING, length BIGINT) ORDER BY ts SOURCE 'parquet:data';
CREATE QUERY q AS SELECT total(length, scal => 2) AS t FROM packets [RANGE 2 SECONDS SLIDE 1 SECOND];
