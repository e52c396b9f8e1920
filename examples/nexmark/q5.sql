-- q5, hot items: the auction with the most bids in the last ten seconds, every two seconds.
-- The published query has all auctions that share the first place; this one has the one of least number.

CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP, extra STRING
) ORDER BY dateTime SOURCE 'generate:nexmark/bid?rate=200&duration=20s';

CREATE QUERY q5 AS
SELECT auction, COUNT(*) AS num
FROM bid [RANGE 10 SECONDS SLIDE 2 SECONDS]
GROUP BY auction
ORDER BY num DESC LIMIT 1;
