-- q1, currency conversion: the price of every bid in euros.

CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP, extra STRING
) ORDER BY dateTime SOURCE 'generate:nexmark/bid?rate=200&duration=20s';

CREATE STREAM euros AS
SELECT auction, bidder, 0.908 * price AS price, dateTime, extra FROM bid;

CREATE QUERY q1 AS
SELECT * FROM euros;
