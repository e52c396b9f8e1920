-- q21, channel id: bids whose channel has an id, which the four large channels have by name and others in the URL.

CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP, extra STRING
) ORDER BY dateTime SOURCE 'generate:nexmark/bid?rate=200&duration=20s';

CREATE STREAM identified AS
SELECT auction, bidder, price, channel, dateTime,
       CASE LOWER(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3'
            ELSE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id
FROM bid;

CREATE QUERY q21 AS
SELECT auction, bidder, price, channel, channel_id FROM identified WHERE channel_id <> '';
