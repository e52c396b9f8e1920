CREATE STREAM readings (v INT) SOURCE 'json:data';
CREATE QUERY q AS SELECT MAX(current_time) AS newest FROM readings [RANGE 30 SECONDS SLIDE 5 SECONDS];
