"""The queries of examples/nexmark as DuckDB says them, over files of the generator as one batch.

Each gives the columns of ours in their order; `window_start` and `window_end` come first where
ours has a window, for windows that lie in the files in part too, as a flush answers them.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from _nexmark.scripts import EXAMPLES

_TEN_SECONDS = "TIME_BUCKET(INTERVAL 10 SECONDS, dateTime)"
_LAST_MINUTE = "{row}.dateTime >= ends - INTERVAL 1 MINUTE AND {row}.dateTime < ends"
_DAY = "DATE_TRUNC('day', dateTime)::TIMESTAMP"
_RANKS = ("price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000")


def _counts(count: str) -> str:
    """In all, and by rank of price."""
    return ", ".join((count, *(f"{count} FILTER (WHERE {rank})" for rank in _RANKS)))


_STATISTICS = ", ".join(
    _counts(count) for count in ("COUNT(*)", "COUNT(DISTINCT bidder)", "COUNT(DISTINCT auction)")
)
_DAYS = f"{_DAY} AS start, start + INTERVAL 1 DAY AS ends"
_CHANNEL_ID = r"REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2)"

DUCKDB = {
    "q0": "SELECT auction, bidder, price, dateTime, extra FROM bid",
    "q1": "SELECT auction, bidder, 0.908 * price, dateTime, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    "q3": f"""
        WITH a AS (SELECT *, {_TEN_SECONDS} + INTERVAL 10 SECONDS AS ends FROM auction)
        SELECT a.ends - INTERVAL 1 MINUTE, a.ends, p.name, p.city, p.state, a.id
        FROM a JOIN person AS p ON a.seller = p.id AND {_LAST_MINUTE.format(row="p")}
        WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    "q5": """
        WITH hops AS (
          SELECT auction, UNNEST(GENERATE_SERIES(1, 5)) AS steps,
                 TIME_BUCKET(INTERVAL 2 SECONDS, dateTime) + steps * INTERVAL 2 SECONDS AS ends
          FROM bid),
        counts AS (SELECT ends, auction, COUNT(*) AS num FROM hops GROUP BY ends, auction)
        SELECT ends - INTERVAL 2 SECONDS, ends, auction, num FROM counts
        QUALIFY num = MAX(num) OVER (PARTITION BY ends)""",
    "q7": f"""
        SELECT {_TEN_SECONDS} AS start, start + INTERVAL 10 SECONDS,
               auction, price, bidder, dateTime, extra
        FROM bid QUALIFY price = MAX(price) OVER (PARTITION BY start)""",
    "q8": f"""
        WITH people AS (SELECT *, {_TEN_SECONDS} AS start FROM person),
        sellers AS (SELECT DISTINCT seller, {_TEN_SECONDS} AS start FROM auction)
        SELECT start, start + INTERVAL 10 SECONDS, id, name
        FROM people JOIN sellers USING (start) WHERE id = seller""",
    "q10": """
        SELECT auction, bidder, price, dateTime, extra,
               STRFTIME(dateTime, '%Y-%m-%d'), STRFTIME(dateTime, '%H:%M') FROM bid""",
    # By bidder alone: when bids arrive is the engine's affair.
    "q12": "SELECT bidder, COUNT(*) FROM bid GROUP BY bidder",
    "q13": """
        SELECT b.auction, b.bidder, b.price, b.dateTime, s.value
        FROM bid AS b JOIN side_input AS s ON b.auction % 1000 = s.key""",
    "q14": """
        SELECT auction, bidder, 0.908 * price,
               CASE WHEN HOUR(dateTime) BETWEEN 8 AND 18 THEN 'dayTime'
                    WHEN HOUR(dateTime) <= 6 OR HOUR(dateTime) >= 20 THEN 'nightTime'
                    ELSE 'otherTime' END,
               dateTime, extra, LEN(LIST_FILTER(STRING_SPLIT(extra, ''), LAMBDA c : c = 'c'))
        FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000""",
    "q15": f"""
        SELECT {_DAYS}, STRFTIME(start, '%Y-%m-%d'), {_STATISTICS}
        FROM bid GROUP BY start""",
    "q16": f"""
        SELECT {_DAYS}, channel, STRFTIME(start, '%Y-%m-%d'),
               STRFTIME(MAX(dateTime), '%H:%M'), {_STATISTICS}
        FROM bid GROUP BY start, channel""",
    "q17": f"""
        SELECT {_DAYS}, auction, STRFTIME(start, '%Y-%m-%d'), {_counts("COUNT(*)")},
               MIN(price), MAX(price), AVG(price), SUM(price)
        FROM bid GROUP BY start, auction""",
    "q20": f"""
        WITH b AS (SELECT *, {_TEN_SECONDS} + INTERVAL 10 SECONDS AS ends FROM bid)
        SELECT b.ends - INTERVAL 1 MINUTE, b.ends,
               b.* EXCLUDE (ends), a.itemName, a.description, a.initialBid, a.reserve, a.dateTime,
               a.expires, a.seller, a.category, a.extra, COUNT(*)
        FROM b JOIN auction AS a ON b.auction = a.id AND {_LAST_MINUTE.format(row="a")}
        WHERE a.category = 10 GROUP BY ALL""",
    "q21": f"""
        SELECT auction, bidder, price, channel, COALESCE(
                 CAST(LIST_POSITION(['apple', 'google', 'facebook', 'baidu'], LOWER(channel)) - 1
                      AS VARCHAR), {_CHANNEL_ID}) AS channel_id
        FROM bid WHERE channel_id <> ''""",
    "q22": """
        SELECT auction, bidder, price, channel,
               SPLIT_PART(url, '/', 4), SPLIT_PART(url, '/', 5), SPLIT_PART(url, '/', 6)
        FROM bid""",
}


def open_house(data: Path, threads: int, before: str = "TRUE") -> duckdb.DuckDBPyConnection:
    """The three streams and the side table as views; of bids those that satisfy `before`."""
    connection = duckdb.connect(config={"threads": threads})
    connection.execute("SET TimeZone = 'UTC'")
    for table, condition in (("person", "TRUE"), ("auction", "TRUE"), ("bid", before)):
        columns = ("dateTime", "expires") if table == "auction" else ("dateTime",)
        times = ", ".join(f"{column}::TIMESTAMP AS {column}" for column in columns)
        connection.execute(
            f"CREATE VIEW {table} AS SELECT * REPLACE ({times})"
            f" FROM '{data}/{table}/*.parquet' WHERE {condition}"
        )
    connection.execute(
        "CREATE TABLE side_input AS SELECT key, value::VARCHAR AS value"
        f" FROM '{EXAMPLES}/data/side_input.csv'"
    )
    return connection
