-- q14, calculation: bids of a certain price in euros, the part of the day, and how many letters c there are.
-- The published query calls a function of its own for the last; two of SQL's do the same.

CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP, extra STRING
) ORDER BY dateTime SOURCE 'generate:nexmark/bid?rate=200&duration=20s';

CREATE STREAM euros AS
SELECT auction, bidder, 0.908 * price AS price, dateTime, extra FROM bid;

CREATE QUERY q14 AS
SELECT auction, bidder, price,
       CASE WHEN HOUR(dateTime) >= 8 AND HOUR(dateTime) <= 18 THEN 'dayTime'
            WHEN HOUR(dateTime) <= 6 OR HOUR(dateTime) >= 20 THEN 'nightTime'
            ELSE 'otherTime' END AS bidTimeType,
       dateTime, extra, LENGTH(extra) - LENGTH(REPLACE(extra, 'c', '')) AS c_counts
FROM euros
WHERE price > 1000000 AND price < 50000000;
