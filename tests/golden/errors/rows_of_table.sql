CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT, length BIGINT, ok BOOLEAN, note STRING)
  ORDER BY ts SOURCE 'parquet:data';
CREATE TABLE whois (prefix STRING, owner STRING) SOURCE 'csv:whois.csv?header=true';
CREATE QUERY q AS SELECT owner FROM whois WHERE prefix IS NOT NULL;
