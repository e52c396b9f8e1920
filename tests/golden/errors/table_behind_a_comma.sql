CREATE STREAM flows (ts TIMESTAMP, src STRING) ORDER BY ts SOURCE 'parquet:data';
CREATE STREAM dns (ts TIMESTAMP, client STRING) ORDER BY ts SOURCE 'parquet:data';
CREATE TABLE whois (prefix STRING, owner STRING) SOURCE 'csv:whois.csv?header=true';
CREATE QUERY q AS SELECT COUNT(*) AS n FROM flows [RANGE 5 SECONDS SLIDE 5 SECONDS] AS f, dns [RANGE 5 SECONDS] AS d
JOIN whois AS w ON w.prefix = f.src WHERE f.src = d.client;
