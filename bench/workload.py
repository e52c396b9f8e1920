"""The queries of the benchmarks, all from seeds.

    tidemill bench workload --profile mixed --queries 20

prints the script that Tidemill would run. Profiles:

- `one`: one group-by (`src`), SUM and COUNT; half of the queries end in `ORDER BY … LIMIT 10`,
  half in a `HAVING` that about 2 % of the groups of a window pass.
- `full`: the same without either ending.
- `mixed`: 50 predicates, 5 group-by sets, 6 aggregates, the two endings.
- `predicates`: as `one`, with as many different predicates as there are queries.

Ranges are 10 to 120 s and slides 1 to 60 s, drawn evenly and apart, so that any ratio may
come, gaps between windows too. `--windows multiples` keeps to what every contender can run:
Flink's HOP takes only ranges that are a multiple of the slide. The first query of `one`,
`full` and `mixed` is the same but for its ending: by `src`, SUM and COUNT, 60 s every 10 s,
without WHERE.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from _predicates import FIFTY, predicates
from _rows import SCHEMA, Shape
from _thresholds import Thresholds

PROFILES = ("one", "full", "mixed", "predicates")
TOP = 10
FIRST_WINDOW = (60, 10)
TOTALS = ("SUM(length) AS bytes", "COUNT(*) AS packets")
AGGREGATES = (
    *TOTALS,
    "COUNT(port) AS ported",
    "AVG(length) AS mean_length",
    "MIN(length) AS smallest",
    "MAX(length) AS largest",
)
# No one of them gives all the others: src by proto feeds src, nothing here feeds zone.
GROUP_BYS = (("src",), ("src", "proto"), ("proto", "port"), ("zone",), ())


@dataclass(frozen=True)
class Query:
    """One standing query, before it is written in anybody's SQL."""

    name: str
    range_s: int
    slide_s: int
    keys: tuple[str, ...] = ("src",)
    aggregates: tuple[str, ...] = TOTALS
    where: str | None = None
    having: str | None = None
    top: str | None = None  # the column of which the ten largest are kept

    @property
    def columns(self) -> str:
        return ", ".join((*self.keys, *self.aggregates))


def make_queries(
    profile: str, count: int, shape: Shape, windows: str = "any", seed: int = 7
) -> list[Query]:
    """The first `count` queries of a profile: a longer list begins with the shorter one."""
    thresholds = Thresholds(shape)
    clauses = predicates(count) if profile == "predicates" else FIFTY
    queries = []
    for number in range(count):
        dice = random.Random(f"{seed}-{number}")
        window = draw_window(dice, windows) if number else FIRST_WINDOW
        query = Query(f"q{number}", *window)
        if profile == "mixed" and number:
            query = _mixed(query, dice)
        if profile == "predicates":
            query = replace(query, where=clauses[number])
        if profile != "full":
            query = _ended(query, number, dice, thresholds)
        queries.append(query)
    return queries


def _mixed(query: Query, dice: random.Random) -> Query:
    chosen = sorted(dice.sample(range(len(AGGREGATES)), dice.randint(1, 3)))
    return replace(
        query,
        keys=dice.choice(GROUP_BYS),
        where=dice.choice(FIFTY),
        aggregates=tuple(AGGREGATES[index] for index in chosen),
    )


def _ended(query: Query, number: int, dice: random.Random, thresholds: Thresholds) -> Query:
    if number % 2 == 0:
        return replace(query, top=query.aggregates[0].partition(" AS ")[2])
    measure = dice.choice(("SUM(length)", "COUNT(*)"))
    least = thresholds.of(measure, query.keys, query.where, query.range_s)
    return replace(query, having=f"{measure} > {least}")


def draw_window(dice: random.Random, windows: str) -> tuple[int, int]:
    """Range and slide in seconds; drawn again until every contender could run it, if asked."""
    while True:
        range_s, slide_s = dice.randint(10, 120), dice.randint(1, 60)
        if windows == "any" or range_s % slide_s == 0:
            return range_s, slide_s


def tidemill_sql(query: Query) -> str:
    lines = [
        f"CREATE QUERY {query.name} INTO nowhere AS SELECT {query.columns}",
        f"FROM packets [RANGE {query.range_s} SECONDS SLIDE {query.slide_s} SECONDS]",
    ]
    if query.where:
        lines.append(f"WHERE {query.where}")
    if query.keys:
        lines.append(f"GROUP BY {', '.join(query.keys)}")
    if query.having:
        lines.append(f"HAVING {query.having}")
    if query.top:
        lines.append(f"ORDER BY {query.top} DESC LIMIT {TOP}")
    return "\n".join(lines) + ";"


def script(
    queries: Sequence[Query], data: Path, file_format: str, files_per_tick: int
) -> Iterator[str]:
    yield f"CREATE STREAM packets ({SCHEMA}) ORDER BY ts SOURCE '{file_format}:{data}';"
    yield "CREATE SINK nowhere TO 'discard:';"
    yield f"SET tick_files = {files_per_tick};"
    yield from map(tidemill_sql, queries)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="tidemill bench workload",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--profile", choices=PROFILES, default="mixed")
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--windows", choices=("any", "multiples"), default="any")
    options = parser.parse_args()
    queries = make_queries(options.profile, options.queries, Shape(), options.windows)
    print("\n".join(script(queries, Path("packets"), "parquet", 4)))


if __name__ == "__main__":
    main()
