-- q8, monitor new users: people who came in the last ten seconds and opened an auction in them.

CREATE STREAM person (
  id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING, dateTime TIMESTAMP,
  extra STRING
) ORDER BY dateTime SOURCE 'generate:nexmark/person?rate=200&duration=20s';
CREATE STREAM auction (
  id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, dateTime TIMESTAMP,
  expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING
) ORDER BY dateTime SOURCE 'generate:nexmark/auction?rate=200&duration=20s';

CREATE QUERY q8 AS
SELECT p.id, p.name
FROM person [RANGE 10 SECONDS SLIDE 10 SECONDS] AS p
JOIN auction [RANGE 10 SECONDS] AS a ON p.id = a.seller
GROUP BY p.id, p.name;
