CREATE STREAM readings (v INT) SOURCE 'json:data';
CREATE STREAM odd AS SELECT v * 2 AS twice FROM readings WHERE v % 2 = 1;
CREATE QUERY q AS SELECT * FROM odd ORDER BY twice;
