"""The queries of examples/nexmark as Structured Streaming says them.

Those that it has no words for are left out: `COUNT(DISTINCT …)` over a stream (q15, q16) and a
window over the time of arrival (q12). It takes the first place of a window from the finished
window, since append mode sorts nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

_EUROS = "SELECT auction, bidder, 0.908 * price AS price, dateTime, extra FROM bid"
_BOUNDS = "window.start AS window_start, window.end AS window_end"
_CHANNEL_ID = r"REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2)"


@dataclass(frozen=True)
class SparkQuery:
    sql: str
    top: str | None = None  # the column by which the first row of each window is taken

    @property
    def is_by_row(self) -> bool:
        """True if each row is answered by itself."""
        return "window(" not in self.sql

    def job(self) -> dict[str, object]:
        return {"sql": self.sql, "top": self.top, "limit": 1}


SPARK = {
    "q0": SparkQuery("SELECT auction, bidder, price, dateTime, extra FROM bid"),
    "q1": SparkQuery(_EUROS),
    "q2": SparkQuery("SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0"),
    "q5": SparkQuery(
        f"SELECT {_BOUNDS}, auction, COUNT(*) AS num FROM bid"
        " GROUP BY window(dateTime, '10 seconds', '2 seconds'), auction",
        top="num",
    ),
    "q7": SparkQuery(
        f"SELECT {_BOUNDS}, auction, price, bidder, dateTime, extra FROM bid"
        " GROUP BY window(dateTime, '10 seconds'), auction, price, bidder, dateTime, extra",
        top="price",
    ),
    "q10": SparkQuery(
        "SELECT auction, bidder, price, dateTime, extra, DATE_FORMAT(dateTime, 'yyyy-MM-dd') AS dt,"
        " DATE_FORMAT(dateTime, 'HH:mm') AS hm FROM bid"
    ),
    "q13": SparkQuery(
        "SELECT b.auction, b.bidder, b.price, b.dateTime, s.value"
        " FROM bid AS b JOIN side_input AS s ON MOD(b.auction, 1000) = s.key"
    ),
    "q14": SparkQuery(
        "SELECT auction, bidder, price,"
        " CASE WHEN HOUR(dateTime) >= 8 AND HOUR(dateTime) <= 18 THEN 'dayTime'"
        " WHEN HOUR(dateTime) <= 6 OR HOUR(dateTime) >= 20 THEN 'nightTime'"
        " ELSE 'otherTime' END AS bidTimeType,"
        " dateTime, extra, LENGTH(extra) - LENGTH(REPLACE(extra, 'c', '')) AS c_counts"
        f" FROM ({_EUROS}) WHERE price > 1000000 AND price < 50000000"
    ),
    "q17": SparkQuery(
        f"SELECT {_BOUNDS}, auction, COUNT(*) AS total_bids,"
        " COUNT(CASE WHEN price < 10000 THEN 1 END) AS rank1_bids,"
        " COUNT(CASE WHEN price >= 10000 AND price < 1000000 THEN 1 END) AS rank2_bids,"
        " COUNT(CASE WHEN price >= 1000000 THEN 1 END) AS rank3_bids,"
        " MIN(price) AS min_price, MAX(price) AS max_price,"
        " AVG(price) AS avg_price, SUM(price) AS sum_price"
        " FROM bid GROUP BY window(dateTime, '1 day'), auction"
    ),
    "q21": SparkQuery(
        "SELECT * FROM (SELECT auction, bidder, price, channel, CASE LOWER(channel)"
        " WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2'"
        f" WHEN 'baidu' THEN '3' ELSE {_CHANNEL_ID} END AS channel_id FROM bid)"
        " WHERE channel_id <> ''"
    ),
    "q22": SparkQuery(
        "SELECT auction, bidder, price, channel, SPLIT_PART(url, '/', 4) AS dir1,"
        " SPLIT_PART(url, '/', 5) AS dir2, SPLIT_PART(url, '/', 6) AS dir3 FROM bid"
    ),
}
