CREATE STREAM s (line STRING, current_time TIMESTAMP) ORDER BY current_time
  SOURCE 'lines:data' WITH (skew = '3 seconds');
