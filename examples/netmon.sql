-- A network watched by forty queries that were written one by one: traffic by sender, receiver,
-- pair, protocol and port, over windows from five seconds to five minutes.
-- `tidemill explain netmon.sql` tells what they share; `--graph netmon.svg` draws it.
CREATE STREAM packets (
  ts TIMESTAMP, src STRING, dst STRING, proto STRING, port INT, length BIGINT, flags INT
) ORDER BY ts
  SOURCE 'generate:packets?rate=1000&duration=2min&hosts=100&seed=11';
CREATE SINK archive TO 'discard:';

-- Who sends. The alerts have no INTO and are printed.
CREATE QUERY top_talkers AS
SELECT src, SUM(length) AS bytes FROM packets [RANGE 1 MINUTE SLIDE 1 MINUTE]
GROUP BY src ORDER BY bytes DESC LIMIT 3;
CREATE QUERY top_talkers_live INTO archive AS
SELECT src, SUM(length) AS bytes FROM packets [RANGE 1 MINUTE SLIDE 10 SECONDS]
GROUP BY src ORDER BY bytes DESC LIMIT 3;
CREATE QUERY sender_load INTO archive AS
SELECT src, AVG(length) AS mean, COUNT(*) AS packets FROM packets [RANGE 1 MINUTE SLIDE 10 SECONDS]
GROUP BY src;
CREATE QUERY sender_peaks INTO archive AS
SELECT src, MAX(length) AS longest FROM packets [RANGE 2 MINUTES SLIDE 30 SECONDS] GROUP BY src;
CREATE QUERY busy_senders INTO archive AS
SELECT src, COUNT(*) AS packets FROM packets [RANGE 30 SECONDS SLIDE 5 SECONDS]
GROUP BY src HAVING COUNT(*) > 300;
CREATE QUERY sender_trend INTO archive AS
SELECT src, SUM(length) AS bytes FROM packets [RANGE 10 SECONDS, 1 MINUTE, 5 MINUTES SLIDE 10 SECONDS]
GROUP BY src;
CREATE QUERY web_senders INTO archive AS
SELECT src, SUM(length) AS bytes FROM packets [RANGE 1 MINUTE SLIDE 15 SECONDS]
WHERE port IN (80, 443) GROUP BY src;
CREATE QUERY web_plain INTO archive AS
SELECT src, COUNT(*) AS packets FROM packets [RANGE 1 MINUTE SLIDE 15 SECONDS]
WHERE port = 80 GROUP BY src;
CREATE QUERY web_secure INTO archive AS
SELECT src, COUNT(*) AS packets, AVG(length) AS mean FROM packets [RANGE 1 MINUTE SLIDE 15 SECONDS]
WHERE port = 443 GROUP BY src;
CREATE QUERY dns_clients INTO archive AS
SELECT src, COUNT(*) AS asked FROM packets [RANGE 30 SECONDS SLIDE 10 SECONDS]
WHERE port = 53 GROUP BY src HAVING COUNT(*) > 10;
CREATE QUERY ssh_clients INTO archive AS
SELECT src, COUNT(*) AS packets FROM packets [RANGE 5 MINUTES SLIDE 1 MINUTE]
WHERE port = 22 GROUP BY src;
CREATE QUERY syn_flood AS
SELECT src, COUNT(*) AS opened FROM packets [RANGE 20 SECONDS SLIDE 20 SECONDS]
WHERE flags = 2 GROUP BY src HAVING COUNT(*) > 60 ORDER BY opened DESC LIMIT 3;
CREATE QUERY resets INTO archive AS
SELECT src, COUNT(*) AS resets FROM packets [RANGE 1 MINUTE SLIDE 20 SECONDS]
WHERE flags = 4 GROUP BY src;
CREATE QUERY large_senders INTO archive AS
SELECT src, COUNT(*) AS full_frames FROM packets [RANGE 45 SECONDS SLIDE 15 SECONDS]
WHERE length >= 1400 GROUP BY src;

-- Who receives.
CREATE QUERY top_receivers AS
SELECT dst, SUM(length) AS bytes FROM packets [RANGE 1 MINUTE SLIDE 1 MINUTE]
GROUP BY dst ORDER BY bytes DESC LIMIT 3;
CREATE QUERY receiver_load INTO archive AS
SELECT dst, SUM(length) AS bytes, COUNT(*) AS packets FROM packets [RANGE 90 SECONDS SLIDE 30 SECONDS]
GROUP BY dst;
CREATE QUERY receiver_mean INTO archive AS
SELECT dst, AVG(length) AS mean FROM packets [RANGE 3 MINUTES SLIDE 1 MINUTE] GROUP BY dst;
CREATE QUERY web_servers INTO archive AS
SELECT dst, SUM(length) AS bytes FROM packets [RANGE 1 MINUTE SLIDE 10 SECONDS]
WHERE port = 80 OR port = 443 GROUP BY dst;
CREATE QUERY mail_servers INTO archive AS
SELECT dst, COUNT(*) AS packets FROM packets [RANGE 2 MINUTES SLIDE 20 SECONDS]
WHERE port IN (25, 587, 143, 993) GROUP BY dst;
CREATE QUERY scanned_hosts INTO archive AS
SELECT dst, COUNT(*) AS opened FROM packets [RANGE 30 SECONDS SLIDE 10 SECONDS]
WHERE flags = 2 GROUP BY dst ORDER BY opened DESC LIMIT 5;
CREATE QUERY quiet_receivers INTO archive AS
SELECT dst, COUNT(*) AS packets FROM packets [RANGE 5 MINUTES SLIDE 1 MINUTE]
GROUP BY dst HAVING COUNT(*) < 3000;

-- Who speaks with whom.
CREATE QUERY top_pairs INTO archive AS
SELECT src, dst, SUM(length) AS bytes FROM packets [RANGE 1 MINUTE SLIDE 30 SECONDS]
GROUP BY src, dst ORDER BY bytes DESC LIMIT 10;
CREATE QUERY chatty_pairs INTO archive AS
SELECT src, dst, COUNT(*) AS packets FROM packets [RANGE 2 MINUTES SLIDE 30 SECONDS]
GROUP BY src, dst HAVING COUNT(*) > 30;

-- Protocols.
CREATE QUERY protocols INTO archive AS
SELECT proto, COUNT(*) AS packets, SUM(length) AS bytes FROM packets [RANGE 10 SECONDS SLIDE 10 SECONDS]
GROUP BY proto;
CREATE QUERY protocols_live INTO archive AS
SELECT proto, COUNT(*) AS packets FROM packets [RANGE 10 SECONDS SLIDE 1 SECOND] GROUP BY proto;
CREATE QUERY protocol_mean INTO archive AS
SELECT proto, AVG(length) AS mean FROM packets [RANGE 1 MINUTE SLIDE 5 SECONDS] GROUP BY proto;
CREATE QUERY protocol_extremes INTO archive AS
SELECT proto, MIN(length) AS shortest, MAX(length) AS longest
FROM packets [RANGE 1 MINUTE SLIDE 20 SECONDS] GROUP BY proto;
CREATE QUERY small_by_protocol INTO archive AS
SELECT proto, COUNT(*) AS packets FROM packets [RANGE 40 SECONDS SLIDE 10 SECONDS]
WHERE length < 100 GROUP BY proto;
CREATE QUERY large_by_protocol INTO archive AS
SELECT proto, COUNT(*) AS packets FROM packets [RANGE 40 SECONDS SLIDE 10 SECONDS]
WHERE length >= 1400 GROUP BY proto;

-- Ports.
CREATE QUERY top_ports AS
SELECT port, COUNT(*) AS packets FROM packets [RANGE 2 MINUTES SLIDE 2 MINUTES]
GROUP BY port ORDER BY packets DESC LIMIT 5;
CREATE QUERY port_load INTO archive AS
SELECT port, SUM(length) AS bytes FROM packets [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY port;
CREATE QUERY port_mean INTO archive AS
SELECT port, AVG(length) AS mean, MAX(length) AS longest FROM packets [RANGE 1 MINUTE SLIDE 30 SECONDS]
GROUP BY port;
CREATE QUERY tcp_ports INTO archive AS
SELECT port, COUNT(*) AS packets FROM packets [RANGE 30 SECONDS SLIDE 15 SECONDS]
WHERE proto = 'TCP' GROUP BY port;
CREATE QUERY udp_ports INTO archive AS
SELECT port, COUNT(*) AS packets FROM packets [RANGE 30 SECONDS SLIDE 15 SECONDS]
WHERE proto = 'UDP' GROUP BY port;
CREATE QUERY not_icmp_ports INTO archive AS
SELECT port, COUNT(*) AS packets FROM packets [RANGE 1 MINUTE SLIDE 15 SECONDS]
WHERE proto IN ('TCP', 'UDP') GROUP BY port;
CREATE QUERY ports_by_protocol INTO archive AS
SELECT proto, port, COUNT(*) AS packets, SUM(length) AS bytes
FROM packets [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY proto, port;

-- Everything.
CREATE QUERY pulse INTO archive AS
SELECT COUNT(*) AS packets, SUM(length) AS bytes FROM packets [RANGE 5 SECONDS SLIDE 1 SECOND];
CREATE QUERY pulse_minute INTO archive AS
SELECT COUNT(*) AS packets, SUM(length) AS bytes FROM packets [RANGE 1 MINUTE SLIDE 5 SECONDS];
CREATE QUERY web_pulse INTO archive AS
SELECT COUNT(*) AS packets FROM packets [RANGE 1 MINUTE SLIDE 5 SECONDS] WHERE port IN (80, 443);
CREATE QUERY five_minutes INTO archive AS
SELECT COUNT(*) AS packets, AVG(length) AS mean, MAX(length) AS longest
FROM packets [RANGE 5 MINUTES SLIDE 30 SECONDS];
