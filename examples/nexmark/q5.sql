-- q5, hot items: the auctions with the most bids in the last ten seconds, every two seconds.
-- The counts of ten seconds are answers of the instant at which these end, so the window of two seconds that ends then
-- has them and no others. `window_end` is the end of the ten seconds.

CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP, extra STRING
) ORDER BY dateTime SOURCE 'generate:nexmark/bid?rate=200&duration=20s';

CREATE STREAM counts AS
SELECT auction, COUNT(*) AS num FROM bid [RANGE 10 SECONDS SLIDE 2 SECONDS] GROUP BY auction;

CREATE STREAM most AS
SELECT MAX(num) AS num FROM counts [RANGE 2 SECONDS SLIDE 2 SECONDS];

CREATE QUERY q5 AS
SELECT c.auction, c.num
FROM counts [RANGE 2 SECONDS SLIDE 2 SECONDS] AS c JOIN most [RANGE 2 SECONDS] AS m ON c.num = m.num
GROUP BY c.auction, c.num;
