CREATE STREAM lines (line STRING, current_time TIMESTAMP) ORDER BY current_time SOURCE 'csv:data' WITH (ahead = '1 hour');
