"""Joins with aggregates, which are answered from slices: no row of the join is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from _ratios import Bench, Figure, Ratio

from _joins.streams import Keys, grouped, join, random_joins, used

FEW, MANY, UNEVEN = Keys(1_000), Keys(100_000), Keys(1_000, heaviest=0.5)
Queries = Callable[[], Iterator[str]]


def _one() -> Iterator[str]:
    yield join()


def _sides() -> Iterator[str]:
    yield grouped("a", 60)
    yield grouped("b", 30)


def _run(keys: Keys, queries: Queries, bench: Bench) -> Figure:
    return used(bench, keys, queries())


def _ratio(name: str, title: str, most: float, measured: object, base: object) -> Ratio:
    return Ratio(name, title, most, *(partial(_run, *way) for way in (measured, base)))  # type: ignore[misc]


RATIOS = (
    _ratio(
        "one",
        "one join with aggregates over the two queries that group each side by the key",
        1.4,
        (FEW, _one),
        (FEW, _sides),
    ),
    _ratio(
        "thousand",
        "1,000 joins of random windows over one, 1,000 keys",
        3,
        (FEW, partial(random_joins, 1_000)),
        (FEW, _one),
    ),
    _ratio(
        "hundred",
        "100 joins of random windows over one, 100,000 keys",
        4,
        (MANY, partial(random_joins, 100)),
        (MANY, _one),
    ),
    _ratio(
        "predicates",
        "1,000 joins with 50 predicates mixed over one",
        6,
        (FEW, partial(random_joins, 1_000, 50)),
        (FEW, _one),
    ),
    _ratio(
        "uneven",
        "one join where a key has half of the rows over one of even keys",
        1.2,
        (UNEVEN, _one),
        (FEW, _one),
    ),
)
