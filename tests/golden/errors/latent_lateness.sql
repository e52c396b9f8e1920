CREATE STREAM readings (v INT) SOURCE 'json:data' WITH (lateness = '1 second');
