CREATE STREAM paris (at TIMESTAMP, size INT) ORDER BY at SOURCE 'parquet:paris';
CREATE STREAM berlin (at TIMESTAMP, size INT) ORDER BY at SOURCE 'parquet:berlin';
CREATE STREAM hourly AS SELECT COUNT(*) AS n FROM berlin [RANGE 1 h SLIDE 1 h];
CREATE STREAM both AS SELECT at, size FROM paris UNION ALL SELECT window_time, n FROM hourly;
CREATE QUERY q AS SELECT * FROM both.late;
