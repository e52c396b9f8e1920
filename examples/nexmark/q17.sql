-- q17, auction statistics: bids and prices of each auction in a day.
-- The published query groups by day, keeps every day for ever, and tells each change. Here a day is a window,
-- answered so far every ten seconds and once more as it ends; then nothing of it is kept.

CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP, extra STRING
) ORDER BY dateTime SOURCE 'generate:nexmark/bid?rate=200&duration=20s';

CREATE QUERY q17 AS
SELECT auction, DATE_FORMAT(window_start, 'yyyy-MM-dd') AS day,
       COUNT(*) AS total_bids,
       COUNT(CASE WHEN price < 10000 THEN 1 END) AS rank1_bids,
       COUNT(CASE WHEN price >= 10000 AND price < 1000000 THEN 1 END) AS rank2_bids,
       COUNT(CASE WHEN price >= 1000000 THEN 1 END) AS rank3_bids,
       MIN(price) AS min_price, MAX(price) AS max_price, AVG(price) AS avg_price, SUM(price) AS sum_price
FROM bid [RANGE 1 DAY SLIDE 1 DAY]
GROUP BY auction
EMIT EVERY 10 SECONDS;
