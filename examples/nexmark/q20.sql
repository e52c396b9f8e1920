-- q20, expand bid with auction: bids on auctions of category 10, with what the auction says.
-- The published query keeps all bids and auctions for ever and gives a row as the second of a pair comes. Here, every ten
-- seconds, the bids of those seconds meet the auctions of the last minute; in a generated stream of 200 events a second
-- or more every bid is on one of these. Bids that agree in every column are one row, and `bids` says how many they are.

CREATE STREAM auction (
  id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, dateTime TIMESTAMP,
  expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING
) ORDER BY dateTime SOURCE 'generate:nexmark/auction?rate=200&duration=20s';
CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP, extra STRING
) ORDER BY dateTime SOURCE 'generate:nexmark/bid?rate=200&duration=20s';

CREATE QUERY q20 AS
SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.dateTime, b.extra,
       a.itemName, a.description, a.initialBid, a.reserve, a.dateTime AS auction_dateTime, a.expires, a.seller,
       a.category, a.extra AS auction_extra, COUNT(*) AS bids
FROM bid [RANGE 10 SECONDS SLIDE 10 SECONDS] AS b
JOIN auction [RANGE 1 MINUTE] AS a ON b.auction = a.id
WHERE a.category = 10
GROUP BY b.auction, b.bidder, b.price, b.channel, b.url, b.dateTime, b.extra,
         a.itemName, a.description, a.initialBid, a.reserve, a.dateTime, a.expires, a.seller, a.category, a.extra;
