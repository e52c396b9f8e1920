-- Rows that are stamped on arrival are never late, so nothing corrects.
CREATE STREAM pings (line STRING, current_time TIMESTAMP) ORDER BY current_time SOURCE 'lines:data' WITH (correct = '1 minute');
