"""Random queries and rows of one stream, and what it takes to answer them plainly."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

from tests.aggregates.written import CODES
from tests.laws.conditions import Condition, Truth, random_pool
from tidemill.aggregates.functions import signatures_with
from tidemill.catalog import Stream
from tidemill.catalog.addresses import Address
from tidemill.language import parse_script
from tidemill.language.statements import ColumnDef, CreateQuery
from tidemill.plan.bind.binder import bind
from tidemill.plan.bind.environment import Environment
from tidemill.plan.predicates import Predicate
from tidemill.plan.query import QueryPlan
from tidemill.reference.answers import AcceptedRow, ReferenceAnswer, answers
from tidemill.settings import OPTIMISER_STEPS, SHARING_MODES, Settings
from tidemill.share import Sample
from tidemill.share.weave import ARRAY_COSTS, MachineCosts
from tidemill.types import BIGINT, DOUBLE, INT, STRING, TIMESTAMP, Type

STREAM = Stream(
    "s",
    (
        ColumnDef("ts", TIMESTAMP),
        ColumnDef("k", STRING),
        ColumnDef("n", INT),
        ColumnDef("big", BIGINT),
        ColumnDef("x", DOUBLE),
        ColumnDef("price", Type("DECIMAL", 12, 2)),
    ),
    "ts",
    False,
    Address("parquet", "/nowhere"),
    0,
)
SIGNATURES = signatures_with(CODES)
AGGREGATES = (
    "COUNT(*)",
    "COUNT(n)",
    *(f"{f}({c})" for f in ("SUM", "AVG", "MIN", "MAX") for c in ("n", "big", "x", "price")),
    *(f"GEOMETRIC_MEAN({c})" for c in ("n", "big", "x", "price")),
    "MIN(k)",
    "MAX(k)",
    *(f"{f}({c})" for f in ("VARIANCE", "STDDEV_POP") for c in ("n", "x", "price")),
    *(f"{f}({c})" for f in ("FIRST", "LAST") for c in ("k", "n", "x", "price")),
    *(f"{f} IGNORE NULLS" for f in ("FIRST(k)", "LAST(n)", "FIRST(x)", "LAST(price)")),
    *(f"COUNT(DISTINCT {c})" for c in ("k", "n", "x", "price")),
    *(f"{f}({c})" for f in ("MEDIAN",) for c in ("n", "big", "x", "price")),
    *("PERCENTILE(n, 0.9)", "PERCENTILE(price, 0)", "PERCENTILE(x, 1)", "PERCENTILE(x, 0.37)"),
    *("TOP(k, 1)", "TOP(n, 3)", "TOP(x, 2)", "TOP(price, 100)"),
    *("TOP(k, 2, SUM(n))", "TOP(n, 3, SUM(big))", "TOP(k, 3, SUM(price))", "TOP(n, 2, SUM(x))"),
    *("COLLECT(k, 2)", "COLLECT(n, 100)", "COLLECT(x, 3)"),
    *(f"APPROX_COUNT_DISTINCT({c})" for c in ("k", "n", "big", "x", "price")),
    "APPROX_COUNT_DISTINCT(k, method => 'theta')",
    "APPROX_COUNT_DISTINCT(x, 0.05, 'theta')",
    *(f"APPROX_PERCENTILE({c}, {p})" for c in ("n", "x", "price") for p in (0, 0.5, 0.99)),
    *(f"APPROX_TOP_K({c}, 2)" for c in ("k", "n", "x", "price")),
    "APPROX_COUNT(k, 'a')",
    "APPROX_COUNT(n, -7, error => 0.001)",
    "APPROX_COUNT(x, 1.5)",
    "APPROX_COUNT(price, 1.25)",
    *(f"spread_out({c})" for c in ("n", "x", "price")),
    "spread_out(n, least => 3)",
    "longest(k, n)",
    "last_steps(n)",
    *(f"total({c})" for c in ("n", "big")),
    *("FREQUENT(k, 1)", "FREQUENT(n, 2)", "FREQUENT(k, 2)"),
)
KEYS = (("k",), ("k", "n"), ("n",), ("x",), ("n", "price"), ())
EPOCHS = (0, -5_000_000, 253_402_300_790_000_000)  # 1970, before it, the end of 9999
HAVINGS = (
    "",
    "",
    " HAVING COUNT(*) > {}",
    " HAVING SUM(n) > {} OR MAX(x) IS NULL",
    " HAVING MAX(k) > 'a' OR MIN(price) < {}",
    " HAVING AVG(big) / {} > 1 AND COUNT(*) < 9",
    " HAVING COUNT(DISTINCT k) > {} OR MEDIAN(n) > 0",
)
ORDERS = (
    "",
    "",
    " LIMIT {}",
    " ORDER BY SUM(n) DESC LIMIT {}",
    " ORDER BY MIN(price) + 1.5, COUNT(*) DESC LIMIT {}",
    " ORDER BY MAX(k) DESC NULLS FIRST LIMIT {}",
    " ORDER BY COUNT(DISTINCT price) DESC, MEDIAN(x) LIMIT {}",
    " ORDER BY MAX(x) DESC NULLS LAST, MIN(n)",
)


@dataclass(frozen=True, eq=False)
class Asked:
    """A query, and its condition as a plain function."""

    plan: QueryPlan
    truth: Truth

    def named(self, name: str) -> Asked:
        return Asked(replace(self.plan, name=name), self.truth)

    def reference(self, rows: Sequence[AcceptedRow]) -> list[ReferenceAnswer]:
        """The answers over the raw rows, by the plain twin."""
        return answers(self.plan, self.with_truth(rows))

    def with_truth(self, rows: Sequence[AcceptedRow]) -> list[AcceptedRow]:
        """The rows with the value of the condition, as Spark would have added it."""
        where = self.plan.where
        if where is None:
            return list(rows)
        return [AcceptedRow(r.time_us, {**r.values, where.sql: self.truth(r.values)}) for r in rows]


def plan_of(number: int, sql: str, stream: Stream = STREAM) -> QueryPlan:
    (query,) = parse_script(f"CREATE QUERY q{number} AS {sql}")
    assert isinstance(query, CreateQuery)
    return bind(query, stream, Environment(SIGNATURES))


def truths_of(asked: Sequence[Asked]) -> dict[Predicate, Truth]:
    """Canonical predicates, each with the function of a query that has it."""
    return {one.plan.predicate: one.truth for one in asked}


def random_window(rng: random.Random) -> str:
    """Few lengths and slides, so that windows of different queries often meet."""
    slide = rng.choice((5, 10, 20, rng.randrange(1, 41)))
    start = rng.choice((0, 0, rng.randrange(1 - slide, slide)))
    lengths = {rng.choice((20, rng.randrange(1, 61))) for _ in range(rng.choice((1, 1, 2)))}
    ranges = ", ".join(f"{length} ms" for length in sorted(lengths))
    return f"RANGE {ranges} SLIDE {slide} ms START '{start} ms'"


@dataclass(frozen=True)
class Kind:
    """What queries of one shape have in common: keys, select list, HAVING, ORDER BY."""

    keys: tuple[str, ...]
    items: str
    having: str
    order: str


def random_kind(rng: random.Random, keys: tuple[str, ...]) -> Kind:
    chosen = rng.sample(AGGREGATES, rng.randrange(1, 4))
    items = ", ".join([*keys, *(f"{sql} AS a{place}" for place, sql in enumerate(chosen))])
    return Kind(keys, items, rng.choice(HAVINGS), rng.choice(ORDERS))


def random_emit(rng: random.Random, keys: tuple[str, ...], window: str) -> str:
    """Early answers, windows without rows, both or neither, as far as the query may have them."""
    shortest = min(map(int, re.findall(r"(\d+) ms", window.split(" SLIDE ")[0])))
    every = [f"EVERY {rng.randrange(1, shortest)} ms"] if shortest > 1 else []
    parts = [part for part in (*every, *([] if keys else ["EMPTY WINDOWS"])) if rng.random() < 0.6]
    return f" EMIT {', '.join(parts)}" if parts else ""


def random_queries(
    rng: random.Random,
    count: int,
    keys: Sequence[tuple[str, ...]] = KEYS,
    emits: bool = False,
    stream: Stream = STREAM,
) -> list[Asked]:
    """Queries of a few kinds, over a few conditions; constants differ."""
    kinds = [random_kind(rng, rng.choice(keys)) for _ in range(rng.randrange(1, 4))]
    pool = random_pool(rng, rng.randrange(1, 7))
    everything = Condition("", lambda _: True)
    found = []
    for number in range(count):
        kind, condition = rng.choice(kinds), rng.choice([*pool, everything])
        sql = [
            f"SELECT {kind.items}, COUNT(*) * {rng.randrange(1, 3)} AS c",
            f"FROM s [{(window := random_window(rng))}]",
            f"WHERE {condition.sql}" if condition.sql else "",
            f"GROUP BY {', '.join(kind.keys)}" if kind.keys else "",
            kind.having.format(rng.randrange(4)),
            kind.order.format(rng.randrange(1, 4)),
            random_emit(rng, kind.keys, window) if emits else "",
        ]
        found.append(Asked(plan_of(number, " ".join(sql), stream), condition.truth))
    return found


VALUES: Mapping[str, tuple[Any, ...]] = {
    "k": (None, "", "a", "b", "ä", "z" * 5),
    "n": (None, 0, 1, -7, 2**31 - 1, -(2**31)),
    "big": (None, 3, -4, 2**63 - 1, -(2**63), 2**32),
    "x": (None, 0.0, 1.5, -2.25, math.nan, math.inf),
    "price": (None, Decimal("1.25"), Decimal("-9999999999.99")),
}


def random_row(rng: random.Random, time_us: int) -> AcceptedRow:
    values = {name: rng.choice(values) for name, values in VALUES.items()}
    price = values["price"]
    values["CAST(price AS DOUBLE)"] = None if price is None else float(price)
    return AcceptedRow(time_us, {"ts": time_us, **values})


def random_settings(rng: random.Random) -> Settings:
    """Any mode, often all steps on; snapshots after few pieces or many."""
    off = rng.choice(((), (), rng.sample(OPTIMISER_STEPS, 1), rng.sample(OPTIMISER_STEPS, 2)))
    return Settings(
        sharing=rng.choice(SHARING_MODES),
        steps_off=", ".join(step for step in OPTIMISER_STEPS if step in off),
        snapshot_pieces=rng.choice((1, 12)),
    )


def random_sample(rng: random.Random) -> Sample:
    """Streams slow or fast, with few or many values of each key."""
    size = 128
    names = sorted({key for keys in KEYS for key in keys})
    keys = {n: np.arange(size) * rng.choice((1, 3, 5)) % rng.choice((2, size)) for n in names}
    return Sample(10.0 ** rng.randrange(1, 8), size, keys)


def random_machine(rng: random.Random) -> MachineCosts:
    """The usual one, or one that had better route cells than pick them."""
    return rng.choice((ARRAY_COSTS, replace(ARRAY_COSTS, route_ns=0.1, narrow_ns=1e4)))


def same_answers(
    plan: QueryPlan, got: Sequence[ReferenceAnswer], wanted: Sequence[ReferenceAnswer]
) -> None:
    """AcceptedRow by row; where there is an ORDER BY, also in that order within a window."""
    assert sorted(row[:2] for row in got) == sorted(row[:2] for row in wanted), plan.name
    key = (lambda row: row[:2]) if plan.is_ordered else repr_key
    for left, right in zip(sorted(got, key=key), sorted(wanted, key=key), strict=True):
        assert left[:2] == right[:2]
        assert all(map(close, left[2], right[2])), (left, right)


def repr_key(row: ReferenceAnswer) -> tuple[Any, ...]:
    # Keys come first in every select list, so near-equal floats never decide the order.
    return (row[0], row[1], *(repr(value) for value in row[2]))


def close(left: Any, right: Any) -> bool:
    if isinstance(left, list | dict) and type(left) is type(right):
        nested = left.values() if isinstance(left, dict) else left
        other = right.values() if isinstance(right, dict) else right
        return len(left) == len(right) and all(map(close, nested, other))
    if isinstance(left, float) and isinstance(right, float):
        return (
            left == right
            or (left != left and right != right)
            or math.isclose(left, right, rel_tol=1e-9)
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(close, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(close(left[name], right[name]) for name in left)
    return bool(left == right)
