"""Queries that come by statements to a stream under way, one by one and in one script.

`tests/share/test_one_by_one.py` has many more sets and the planner alone. Here two homes have had
the same rows, so the rate is the one that ticks measured, and queries move from synopsis to
synopsis. What one home costs at last is at most `rebuild_percent` more than the other.
"""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.share.test_one_by_one import PERCENT, TABLE_3, random_parts
from tidemill import Engine
from tidemill.language.names import Name
from tidemill.share import Context
from tidemill.share.growth import groups_of
from tidemill.share.optimiser import cost_of_arrangement

SETS, MINUTE_US = 12, 60_000_000
STREAM = """
CREATE STREAM s (ts TIMESTAMP, k STRING, n INT, big BIGINT, price BIGINT)
  ORDER BY ts SOURCE 'parquet:in';
CREATE SINK nowhere TO 'discard:';
CREATE QUERY first INTO nowhere AS
SELECT big, COUNT(*) AS c FROM s [RANGE 10 MINUTES SLIDE 10 MINUTES] GROUP BY big;
"""
# By rows a minute: what the queries of Table 3 come to at 1.2 a second.
RATES = (72, 600, 60_000)
Parts = tuple[str, str, str]


def write_minute(folder: Path, rows: int) -> None:
    rng = random.Random(7)
    times = [number * MINUTE_US // rows for number in range(rows)]
    columns = {
        "ts": pa.array(times).cast(pa.timestamp("us", tz="UTC")),
        "k": [rng.choice("abcdefgh") for _ in times],
        "n": pa.array([rng.randrange(10) for _ in times], pa.int32()),
        "big": [rng.randrange(5) for _ in times],
        "price": [rng.randrange(9) for _ in times],
    }
    (folder / "in").mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), folder / "in" / "rows.parquet")


def create(number: int, keys: str, where: str, window: str) -> str:
    items, group = (f"{keys}, ", f" GROUP BY {keys}") if keys else ("", "")
    condition = f" WHERE {where}" if where else ""
    select = f"SELECT {items}COUNT(*) AS c FROM s [{window}]{condition}{group}"
    return f"CREATE QUERY q{number} INTO nowhere AS {select};"


class Home:
    """An engine that has had its minute of rows."""

    def __init__(self, folder: Path, name: str, sharing: str) -> None:
        self.engine = Engine(folder / name)
        self.engine.sql(f"SET sharing = '{sharing}'; {STREAM}", folder)
        assert self.engine.run("idle").rows_in

    def cost(self, queries: int, figures: Context) -> float:
        """What all queries of the set and the first one cost."""
        groups = groups_of(self.engine.plan, Name("s"))
        assert sum(len(group.queries) for group in groups) == queries + 1
        return cost_of_arrangement(groups, figures)

    def hosts(self) -> dict[str, str]:
        """By query, the synopsis that answers its newest windows."""
        return {name: stints[-1].synopsis_id for name, stints in self.engine.plan.stints.items()}

    def figures(self) -> Context:
        planner, engine = self.engine._registry.planner, self.engine
        return planner.context(Name("s"), engine.catalog, engine.plan)


@pytest.mark.parametrize("sharing", ["weave", "triweave", "auto"])
def test_one_by_one_ends_within_the_bound_of_one_script(tmp_path: Path, sharing: str) -> None:
    several = moved = 0
    for rows in RATES:
        write_minute(tmp_path, rows)
        together, apart = (Home(tmp_path, f"{name}{rows}", sharing) for name in ("all", "each"))
        with together.engine, apart.engine:
            for seed in range(SETS // len(RATES)):
                rng = random.Random(seed)
                parts = table_3() if seed == 0 else random_parts(rng)
                statements = [create(number, *each) for number, each in enumerate(parts)]
                together.engine.sql("".join(statements))
                for statement in rng.sample(statements, len(statements)):
                    hosts = apart.hosts()
                    apart.engine.sql(statement)
                    moved += any(apart.hosts()[query] != host for query, host in hosts.items())
                figures = together.figures()
                costs = [home.cost(len(parts), figures) for home in (apart, together)]
                assert costs[0] <= costs[1] * (1 + PERCENT / 100), (rows, seed)
                several += len(groups_of(apart.engine.plan, Name("s"))) > 2
                for home in (together, apart):
                    home.engine.sql("".join(f"DROP QUERY q{n};" for n in range(len(parts))))
    assert several > 2
    assert bool(moved) == (sharing != "auto")


def table_3() -> list[Parts]:
    return [("", "", f"RANGE {length} s SLIDE {slide} s") for length, slide in TABLE_3]
