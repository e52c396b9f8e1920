-- q13, bounded side input: every bid with what a table says of its auction.
-- The published table has 10,000 rows, this one 1,000.

CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP, extra STRING
) ORDER BY dateTime SOURCE 'generate:nexmark/bid?rate=200&duration=20s';

CREATE TABLE side_input (key BIGINT, value STRING)
  SOURCE 'csv:data/side_input.csv?header=true';

CREATE QUERY q13 AS
SELECT b.auction, b.bidder, b.price, b.dateTime, s.value
FROM bid AS b JOIN side_input AS s ON MOD(b.auction, 1000) = s.key;
