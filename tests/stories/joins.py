"""Random joins of windows as Tidemill's SQL, and as DuckDB's over the rows of each instant."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import duckdb
import pyarrow as pa

SECOND_US = 1_000_000
NOON_US = 1_709_294_400 * SECOND_US
SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("k", pa.string()),
        ("j", pa.int32()),
        ("v", pa.int32()),
        ("x", pa.float64()),
        ("b", pa.bool_()),
    ]
)
COLUMNS = "ts TIMESTAMP, k STRING, j INT, v INT, x DOUBLE, b BOOLEAN"
STREAMS = ("s1", "s2", "s3")
LATENESS = 5
Row = dict[str, Any]

AGGREGATES = (
    *("COUNT(*)", "COUNT({0}.v)", "SUM({0}.v)", "AVG({0}.x)", "MIN({0}.v)", "MAX({0}.x)"),
    *("COUNT(DISTINCT {0}.v)", "MEDIAN({0}.v)", "VAR_POP({0}.x)", "SUM({0}.j)", "MAX({0}.j)"),
)
# What arrays do not read, so that Spark starts.
OF_TEXTS = ("MIN({0}.k)", "MAX(UPPER({0}.k))", "COUNT(DISTINCT {0}.k || 'x')")
CONDITIONS = ("{0}.v > 3", "{0}.b", "{0}.x < 2.5", "{0}.v <> 4 AND {0}.j < 3", "{0}.j IN (0, 1)")
NULLABLE = ("{0}.v IS NULL", "({0}.v < 6 OR {0}.v IS NULL)", "NOT {0}.b", "{0}.x > 1")
GROUPS = ("{0}.k", "{0}.b", "{0}.j", "{0}.v")
KEYS = (("k",), ("j",), ("k", "j"), ("k",), ("j",))


def random_rows(rng: random.Random, count: int, spread: int) -> list[Row]:
    """Rows in the order in which they arrive, none of them late."""
    times = [NOON_US + rng.randrange(spread * 10) * SECOND_US // 10 for _ in range(count)]
    times.sort(key=lambda us: us + rng.randrange(LATENESS * SECOND_US))
    return [
        {
            "ts": datetime.fromtimestamp(us / SECOND_US, UTC),
            "k": rng.choice(("a", "b", "c", "d", None)),
            "j": rng.choice((0, 1, 2, 3, None)),
            "v": rng.choice((*range(8), None)),
            "x": rng.choice((None, 0.5, 1.25, 2.75, -3.0)),
            "b": rng.choice((True, False, None)),
        }
        for us in times
    ]


@dataclass(frozen=True)
class Look:
    """A window of a stream in a query; without a slide it ends where another one does."""

    stream: str
    alias: str
    range_s: int
    slide_s: int | None = None

    @property
    def text(self) -> str:
        slide = f" SLIDE {self.slide_s} s" if self.slide_s else ""
        return f"{self.stream} [RANGE {self.range_s} s{slide}] AS {self.alias}"

    def batch(self, end_us: int) -> str:
        """Its rows at an instant."""
        times = [end_us - self.range_s * SECOND_US, end_us]
        low, high = (f"make_timestamptz({us}::BIGINT)" for us in times)
        rows = f"(SELECT * FROM {self.stream} WHERE ts >= {low} AND ts < {high})"
        return f"{rows} AS {self.alias}"


@dataclass(frozen=True)
class JoinCase:
    """A query with `{n}` in place of its n-th window."""

    name: str
    template: str
    looks: tuple[Look, ...]
    longest_s: int  # of the windows in FROM
    groups: int

    @property
    def create(self) -> str:
        text = self.template.format(*(look.text for look in self.looks))
        return f"CREATE QUERY {self.name} INTO out AS {text};"

    def answers(self, base: duckdb.DuckDBPyConnection, last_us: int) -> Iterator[list[Any]]:
        """Start and end of the window, and the values, of every answer up to the last row."""
        longest_us, having = (
            self.longest_s * SECOND_US,
            "" if self.groups else " HAVING COUNT(*) > 0",
        )
        ruler = next(look for look in self.looks if look.slide_s)
        slide_us, range_us = (ruler.slide_s or 0) * SECOND_US, ruler.range_s * SECOND_US
        end_us = NOON_US // slide_us * slide_us + range_us % slide_us
        while end_us <= last_us + longest_us:
            text = self.template.format(*(look.batch(end_us) for look in self.looks))
            for row in base.execute(_spelled(text) + having).fetchall():
                yield [end_us - longest_us, end_us, *row]
            end_us += slide_us


def _spelled(text: str) -> str:
    return text.replace("LEFT SEMI", "SEMI").replace("LEFT ANTI", "ANTI")


@dataclass
class CaseMaker:
    """Draws joins of one to four windows with conditions, groups and aggregates."""

    rng: random.Random
    kinds: Sequence[str] = ("INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI")
    exists: bool = True
    texts: bool = False  # also what arrays do not read

    def case(self, name: str) -> JoinCase:
        rng, key = self.rng, self.rng.choice(KEYS)
        slide_s, count = rng.choice((2, 5, 10)), rng.choice((2, 2, 2, 3, 3, 4))
        looks = [
            Look(rng.choice(STREAMS), alias, rng.choice((3, 5, 8, 10, 20, 30)))
            for alias in "pqrt"[:count]
        ]
        carrier = rng.randrange(count)
        kinds = ["", *(rng.choice(self.kinds) for _ in looks[1:])]
        while kinds[carrier] in ("LEFT SEMI", "LEFT ANTI"):
            carrier = rng.randrange(count)
        looks[carrier] = Look(
            looks[carrier].stream, looks[carrier].alias, looks[carrier].range_s, slide_s
        )
        text, shown = "{0}", [looks[0]]
        for number, (look, kind) in enumerate(zip(looks[1:], kinds[1:], strict=True), start=1):
            text += f" {kind} JOIN {{{number}}} ON {self._on(look, rng.choice(shown), key)}"
            if not kind.endswith(("SEMI", "ANTI")):
                shown.append(look)
        where = self._where(shown, looks, key, len(kinds) > 1 and set(kinds[1:]) == {"INNER"})
        groups = list(
            dict.fromkeys(
                rng.choice(GROUPS).format(rng.choice(shown).alias)
                for _ in range(rng.choice((0, 1, 1, 2)))
            )
        )
        values = [
            rng.choice((*AGGREGATES, *(OF_TEXTS * self.texts))).format(rng.choice(shown).alias)
            for _ in range(rng.choice((1, 2, 3)))
        ]
        items = [f"{sql} AS c{number}" for number, sql in enumerate((*groups, *values))]
        body = f"SELECT {', '.join(items)} FROM {text}"
        body += f" WHERE {' AND '.join(where)}" if where else ""
        body += f" GROUP BY {', '.join(groups)}" if groups else ""
        longest_s = max(look.range_s for look in looks[: len(kinds)])
        return JoinCase(name, body, tuple(looks), longest_s, len(groups))

    def _on(self, look: Look, other: Look, key: tuple[str, ...]) -> str:
        parts = [f"{other.alias}.{column} = {look.alias}.{column}" for column in key]
        aliases = [alias for alias in (look.alias, other.alias) if self.rng.random() < 0.2]
        parts += [self.rng.choice(CONDITIONS).format(alias) for alias in aliases]
        return " AND ".join(parts)

    def _where(
        self, shown: list[Look], looks: list[Look], key: tuple[str, ...], is_inner: bool
    ) -> list[str]:
        rng, where = self.rng, list[str]()
        for look in shown:
            if rng.random() < 0.3:
                choices = CONDITIONS if is_inner else (*CONDITIONS, *NULLABLE)
                where.append(rng.choice(choices).format(look.alias))
        if self.exists and rng.random() < 0.3:
            inner = Look(rng.choice(STREAMS), "e", rng.choice((3, 8, 25)))
            number, outer = len(looks), rng.choice(shown).alias
            looks.append(inner)
            condition = f" AND {rng.choice(CONDITIONS).format('e')}" if rng.random() < 0.5 else ""
            word = rng.choice(("", "NOT "))
            if rng.random() < 0.5 or len(key) > 1:
                same = " AND ".join(f"e.{column} = {outer}.{column}" for column in key)
                where.append(f"{word}EXISTS (SELECT 1 FROM {{{number}}} WHERE {same}{condition})")
            else:
                # Whether a text is NULL is Catalyst's to say.
                word = word if self.texts or key == ("j",) else ""
                condition = condition.replace(" AND ", " WHERE ", 1)
                where.append(
                    f"{outer}.{key[0]} {word}IN (SELECT e.{key[0]} FROM {{{number}}}{condition})"
                )
        return where


def differences(name: str, answers: list[list[Any]], batch: list[list[Any]]) -> list[str]:
    """What is answered otherwise than in batch; floats may differ by their last digits."""
    ours, theirs = sorted(answers, key=_order), sorted(batch, key=_order)
    if len(ours) != len(theirs):
        return [f"{name}: {len(ours)} answers, not {len(theirs)}"]
    return [
        f"{name}: {mine} is not {other}"
        for mine, other in zip(ours, theirs, strict=True)
        if not all(_equal(one, two) for one, two in zip(mine, other, strict=True))
    ]


def _equal(one: Any, two: Any) -> bool:
    if isinstance(one, float) and isinstance(two, float):
        return math.isclose(one, two, rel_tol=1e-9, abs_tol=1e-12)
    return bool(one == two)


def _order(row: list[Any]) -> list[tuple[bool, str]]:
    return [(v is None, f"{v:.6f}" if isinstance(v, float) else str(v)) for v in row]
