CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT) ORDER BY ts SOURCE 'generate:packets?rows=10';
CREATE STREAM both AS SELECT ts, src FROM packets UNION ALL SELECT src, ts FROM packets;
