CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT) ORDER BY ts SOURCE 'generate:packets?rows=10';
CREATE STREAM both AS SELECT ts FROM packets UNION SELECT ts FROM packets;
