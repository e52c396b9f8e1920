CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT, length BIGINT, ok BOOLEAN, note STRING)
  ORDER BY ts SOURCE 'parquet:data';
CREATE TABLE whois (prefix STRING, owner STRING, port INT) SOURCE 'csv:whois.csv?header=true';
CREATE QUERY q AS SELECT COUNT(*) AS n FROM packets [RANGE 30 SECONDS SLIDE 5 SECONDS] AS p LEFT JOIN whois AS w
ON p.src = w.prefix AND w.owner > p.port;
