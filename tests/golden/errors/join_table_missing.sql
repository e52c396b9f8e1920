CREATE STREAM packets (ts TIMESTAMP, src STRING) ORDER BY ts SOURCE 'parquet:data';
CREATE TABLE whois (prefix STRING, owner STRING) SOURCE 'csv:data/whois.csv?header=true';
CREATE QUERY q AS SELECT w.owner, COUNT(*) AS n
FROM packets [RANGE 30 SECONDS SLIDE 5 SECONDS] JOIN whois AS w ON w.prefix = src
GROUP BY w.owner;
