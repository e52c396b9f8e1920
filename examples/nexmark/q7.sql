-- q7, highest bid: the bids of the highest price in every ten seconds.

CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP, extra STRING
) ORDER BY dateTime SOURCE 'generate:nexmark/bid?rate=200&duration=20s';

CREATE STREAM highest AS
SELECT MAX(price) AS price FROM bid [RANGE 10 SECONDS SLIDE 10 SECONDS];

CREATE QUERY q7 AS
SELECT b.auction, b.price, b.bidder, b.dateTime, b.extra
FROM bid [RANGE 10 SECONDS SLIDE 10 SECONDS] AS b JOIN highest [RANGE 10 SECONDS] AS h ON b.price = h.price
GROUP BY b.auction, b.price, b.bidder, b.dateTime, b.extra;
