CREATE STREAM readings (v INT) SOURCE 'json:data' WITH (clock = 'wall');
