-- q0, pass through: every bid as it comes.

CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP, extra STRING
) ORDER BY dateTime SOURCE 'generate:nexmark/bid?rate=200&duration=20s';

CREATE QUERY q0 AS
SELECT auction, bidder, price, dateTime, extra FROM bid;
