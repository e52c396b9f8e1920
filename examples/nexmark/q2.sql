-- q2, selection: the bids on every 123rd auction.

CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP, extra STRING
) ORDER BY dateTime SOURCE 'generate:nexmark/bid?rate=200&duration=20s';

CREATE QUERY q2 AS
SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0;
