-- q12, windows of processing time: how many bids of each bidder arrive in ten seconds.
-- A stream without ORDER BY is latent: its windows are over the time of arrival.

CREATE STREAM arriving_bid (bidder BIGINT)
  SOURCE 'generate:nexmark/bid?rate=200&duration=20s';

CREATE QUERY q12 AS
SELECT bidder, COUNT(*) AS bid_count
FROM arriving_bid [RANGE 10 SECONDS SLIDE 10 SECONDS]
GROUP BY bidder;
