"""Terms of each kind of join, written by hand, against DuckDB's answer to the same in SQL."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import pytest

from tests.answer import joins
from tests.answer.joins import KINDS, RandomSide, call_of
from tidemill.plan.window_join import SidePlace
from tidemill.state.layouts.bundles import CellLayout
from tidemill.types import STRING

SQL = {
    "inner": "FROM s0 JOIN s1 ON s0.k = s1.k",
    "inner of three": "FROM s0 JOIN s1 ON s0.k = s1.k JOIN s2 ON s0.k = s2.k",
    "left": "FROM s0 LEFT JOIN s1 ON s0.k = s1.k",
    "left with conditions": "FROM s0 LEFT JOIN s1 ON s0.k = s1.k AND s0.flag"
    " WHERE coalesce(s1.flag, s1.k IS NULL)",
    "right": "FROM s0 RIGHT JOIN s1 ON s0.k = s1.k",
    "full": "FROM s0 FULL JOIN s1 ON s0.k = s1.k",
    "semi": "FROM s0 WHERE EXISTS (SELECT 1 FROM s1 WHERE s1.k = s0.k)",
    "anti": "FROM s0 WHERE NOT EXISTS (SELECT 1 FROM s1 WHERE s1.k = s0.k)",
    "semi of flags": "FROM s0 WHERE EXISTS (SELECT 1 FROM s1 WHERE s1.k = s0.k AND s1.flag)",
    "not in": "FROM s0 WHERE s0.k NOT IN (SELECT k FROM s1)",
    "left of three": "FROM s0 LEFT JOIN s1 ON s0.k = s1.k LEFT JOIN s2 ON s0.k = s2.k",
    "inner and semi": "FROM s0 JOIN s1 ON s0.k = s1.k WHERE s0.k IN (SELECT k FROM s2)",
}


def drawn_sides(kind: str, dice: random.Random) -> list[RandomSide]:
    _, flags = KINDS[kind]
    calls = [(call_of("SUM(n)"),), (call_of("MAX(t)"),), ()]
    rows = [rows_of(dice) for _ in flags]
    return [
        RandomSide(("k",), flag, ("big",), calls[number], rows[number], (1,) * len(rows[number]))
        for number, flag in enumerate(flags)
    ]


def rows_of(dice: random.Random) -> tuple[dict[str, Any], ...]:
    names = (None, "a", "b", "c", "d") if dice.random() < 0.5 else ("a", "b", "c", "d", "e")
    return tuple(
        {
            "ts": dice.randrange(-3000, 3000),
            "k": dice.choice(names),
            "n": dice.choice((None, 1, 5, -3)),
            "t": dice.choice((None, 1, 2)),
            "big": dice.choice((None, 7, 8)),
            "flag": dice.random() < 0.5,
        }
        for _ in range(dice.choice((0, 12, 12)))
    )


@pytest.mark.parametrize("kind", SQL)
def test_a_kind_of_join_equals_batch_sql(kind: str) -> None:
    answered = sum(compare(kind, random.Random(f"{kind} {seed}")) for seed in range(20))
    assert answered >= 5


def compare(kind: str, dice: random.Random) -> int:
    """How many groups there are, on both sides the same."""
    sides, terms = drawn_sides(kind, dice), KINDS[kind][0]
    has_second = any(1 in term.sides for term in terms)
    in_from = (0, 1) if has_second else (0,)
    calls = [call_of("COUNT(*)"), *(sides[side].calls[0] for side in in_from)]
    places = (None, *(SidePlace(side, 0) for side in in_from))
    groups = tuple((SidePlace(side, 1 + sides[side].flags),) for side in in_from)
    kinds = tuple(sides[side].kinds[-1] for side in in_from)
    join = joins.join_of(terms, (STRING,), sides, groups, places)
    looks = [((0, -2000, 2000), (0, -1000, 2000), (0, -3000, 2000))[: len(sides)]]
    layout: CellLayout = dice.choice(("dense", "sparse"))
    found = joins.kernel_groups(join, kinds, calls, sides, looks, layout).get(0, {})
    connection = duckdb.connect()
    for number, (side, look) in enumerate(zip(sides, looks[0], strict=True)):
        fill(connection, number, side, look)
    selected = ", ".join(f"s{side}.big" for side in in_from)
    aggregates = ["COUNT(*)", "SUM(s0.n)", "MAX(s1.t)"][: len(calls)]
    rows = connection.execute(
        f"SELECT {selected}, {', '.join(aggregates)} {SQL[kind]} GROUP BY {selected}"
    ).fetchall()
    expected = {tuple(row[: len(in_from)]): tuple(row[len(in_from) :]) for row in rows}
    assert found == expected
    return len(expected)


def fill(connection: Any, number: int, side: RandomSide, look: tuple[int, int, int]) -> None:
    name = f"s{number}"
    connection.execute(f"CREATE TABLE {name} (k TEXT, n INT, t INT, big BIGINT, flag BOOLEAN)")
    inside = [row for row in side.rows if look[1] <= row["ts"] < look[2]]
    for row in inside:
        values = [row[column] for column in ("k", "n", "t", "big", "flag")]
        connection.execute(f"INSERT INTO {name} VALUES (?, ?, ?, ?, ?)", values)
