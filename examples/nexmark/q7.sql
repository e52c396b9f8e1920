-- q7, highest bid: the bid of the highest price in every ten seconds.
-- The published query has all bids of that price; this one has the first of them in the order of the list.

CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP, extra STRING
) ORDER BY dateTime SOURCE 'generate:nexmark/bid?rate=200&duration=20s';

CREATE QUERY q7 AS
SELECT auction, price, bidder, dateTime, extra
FROM bid [RANGE 10 SECONDS SLIDE 10 SECONDS]
GROUP BY auction, price, bidder, dateTime, extra
ORDER BY price DESC LIMIT 1;
