-- q3, local item suggestion: who sells in OR, ID or CA in category 10, and in which auctions?
-- The published query keeps all people and auctions for ever and gives a row as the second of a pair comes. Here, every
-- ten seconds, the auctions of those seconds meet the people of the last minute, who are all sellers that there can be
-- in a generated stream of 1,000 events a second or more.

CREATE STREAM person (
  id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING, dateTime TIMESTAMP,
  extra STRING
) ORDER BY dateTime SOURCE 'generate:nexmark/person?rate=200&duration=20s';
CREATE STREAM auction (
  id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, dateTime TIMESTAMP,
  expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING
) ORDER BY dateTime SOURCE 'generate:nexmark/auction?rate=200&duration=20s';

CREATE QUERY q3 AS
SELECT p.name, p.city, p.state, a.id
FROM auction [RANGE 10 SECONDS SLIDE 10 SECONDS] AS a
JOIN person [RANGE 1 MINUTE] AS p ON a.seller = p.id
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')
GROUP BY p.name, p.city, p.state, a.id;
