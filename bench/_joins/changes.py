"""Changes of answers in place of whole ones, and distinct rows, beside the plain query."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from _ratios import Bench, Figure, Ratio

from _joins.streams import Keys, used

FEW, MANY = Keys(1_000), Keys(100_000)
LIST = "k, COUNT(*) AS n, SUM(v) AS s"


def _both(form: str) -> Iterator[str]:
    """The query over either stream."""
    yield from (form.format(name=name) for name in "ab")


def _listed(word: str) -> Iterator[str]:
    window = "[RANGE 60 s SLIDE 10 s]"
    return _both(f"SELECT {word}({LIST}) FROM {{name}} {window} GROUP BY k")


def _above(word: str, bench: Bench) -> Iterator[str]:
    """About a fifth of the keys are above the threshold."""
    mean = bench.rows * 60 / 1_000 * 750 / MANY.count
    rest = f"[RANGE 60 s SLIDE 10 s] GROUP BY k HAVING SUM(v) > {mean * 1.15:.0f}"
    return _both(f"SELECT {word}(k) FROM {{name}} {rest}")


def _run_listed(word: str, bench: Bench) -> Figure:
    return used(bench, FEW, _listed(word))


def _run_above(word: str, bench: Bench) -> Figure:
    return used(bench, MANY, _above(word, bench))


def _run(form: str, bench: Bench) -> Figure:
    return used(bench, FEW, _both(form))


def _rows(distinct: str, items: str, group: str) -> partial[Figure]:
    rest = "[RANGE 60 s SLIDE 10 s]"
    return partial(_run, f"SELECT {distinct}{items} FROM {{name}} {rest}{group}")


RATIOS = (
    Ratio(
        "changes",
        "ISTREAM over RSTREAM of one query, 1,000 keys, every row",
        1.3,
        partial(_run_listed, "ISTREAM"),
        partial(_run_listed, "RSTREAM"),
    ),
    Ratio(
        "crossings",
        "ISTREAM over RSTREAM of a HAVING query, 100,000 keys",
        1.3,
        partial(_run_above, "ISTREAM"),
        partial(_run_above, "RSTREAM"),
    ),
    Ratio(
        "distinct",
        "DISTINCT over GROUP BY of the same columns",
        1.3,
        _rows("DISTINCT ", "k, g", ""),
        _rows("", "k, g", " GROUP BY k, g"),
    ),
    Ratio(
        "repeated",
        "distinct counts of groups over all of them",
        1.3,
        _rows("DISTINCT ", "COUNT(*) AS n", " GROUP BY k"),
        _rows("", "COUNT(*) AS n", " GROUP BY k"),
    ),
)
