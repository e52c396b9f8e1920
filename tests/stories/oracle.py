"""Random queries, and the same queries as Spark batch SQL: an answer nobody here computed."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Sums of FLOAT and DOUBLE depend on the order of addition, in Spark as here.
FLOAT_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Term:
    """An expression for a stream, and what batch SQL has to say for the same."""

    sql: str
    batch: str = ""
    approximate: bool = False
    odd: bool = False  # not to be had from arrays of plain columns
    nested: bool = False  # an array, which nothing can be ordered by

    @property
    def oracle(self) -> str:
        return self.batch or self.sql


# A BIGINT sum is exact here and NULL past 64 bits; Spark's raises, also half-way through.
_EXACT_SUM = "TRY_CAST(SUM(CAST(n AS DECIMAL(38,0))) AS BIGINT)"
SPREADS = ("VARIANCE", "STDDEV", "VAR_POP", "STDDEV_POP")


def _top(value: str, most: int, weight: str = "COUNT(*)", odd: bool = False) -> Term:
    """The heaviest values, in batch SQL by counting each of a list through and sorting them."""
    summed = "" if weight == "COUNT(*)" else f", {weight}"
    pairs = "COLLECT_LIST({})".format(
        f"IF({value} IS NULL, NULL, STRUCT({value} AS v, 1L AS w))"
        if not summed
        else f"IF({value} IS NULL OR {weight[4:-1]} IS NULL, NULL, "
        f"STRUCT({value} AS v, CAST({weight[4:-1]} AS DECIMAL(38,0)) AS w))"
    )
    zero = "0L" if not summed else "CAST(0 AS DECIMAL(38,0))"
    added = f"AGGREGATE(FILTER({pairs}, p -> p.v <=> u), {zero}, (a, p) -> a + p.w)"
    each = f"TRANSFORM(ARRAY_DISTINCT(TRANSFORM({pairs}, p -> p.v)), u -> STRUCT(u AS value, "
    each += f"CAST({added} AS {'DECIMAL(38,0)' if summed else 'BIGINT'}) AS weight))"
    order = "(l, r) -> CASE WHEN l.weight > r.weight THEN -1 WHEN l.weight < r.weight THEN 1"
    order += " WHEN l.value < r.value THEN -1 WHEN l.value > r.value THEN 1 ELSE 0 END"
    fitting = "t -> STRUCT(t.value AS value, TRY_CAST(t.weight AS BIGINT) AS weight)"
    batch = f"TRANSFORM(SLICE(ARRAY_SORT({each}, {order}), 1, {most}), {fitting})"
    empty = f"SIZE({pairs}) = 0"
    sql = f"TOP({value}, {most}{summed})"
    return Term(sql, f"IF({empty}, NULL, {batch})", odd=odd, nested=True)


def _collect(value: str, most: int) -> Term:
    batch = f"SLICE(ARRAY_SORT(COLLECT_LIST({value})), 1, {most})"
    # A function around it leaves out the column with the number of values.
    sql = f"ARRAY_COMPACT(COLLECT({value}, {most}))"
    return Term(sql, f"IF(COUNT({value}) = 0, NULL, {batch})", odd=True, nested=True)


# What is worked out from counts of values.
HOLISTIC = (
    *(
        Term(f"COUNT(DISTINCT {c})", odd=c in ("d", "w"))
        for c in "k b m n x f d w name day at".split()
    ),
    *(Term(f"MEDIAN({c})", odd=c in ("d", "w")) for c in "m n x f d w".split()),
    *(Term(f"PERCENTILE({c}, {p})") for c in "mx" for p in ("0", "0.25", "0.99", "1")),
    *(_top(c, 2, odd=c == "d") for c in "k m x d at".split()),
    *(_top("k", 3, "SUM(m)"), _top("g", 1, "SUM(n)"), _top("name", 9, "SUM(n)")),
    *(_collect("k", 3), _collect("m", 100)),
)
_NINETIETH = "DOUBLE(PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY m))"
_PERCENTILE = "PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY x) FILTER (WHERE NOT ISNAN(x))"
# How often the most frequent value is there.
_MOST = (
    "ARRAY_MAX(TRANSFORM(COLLECT_SET({value}), v -> BIGINT(SIZE(FILTER(COLLECT_LIST({value}), "
    "w -> w = v)))))"
)
AGGREGATES = (
    Term("COUNT(*)"),
    Term("COUNT(x)"),
    Term("COUNT(name)"),
    Term("SUM(m)"),
    Term("SUM(n)", _EXACT_SUM),
    Term("SUM(d)", odd=True),
    Term("SUM(w)", "TRY_SUM(w)", odd=True),
    Term("AVG(w)", "TRY_AVG(w)", odd=True),
    Term("SUM(x)", approximate=True),
    Term("SUM(f)", approximate=True),
    Term("SUM(g * 2 + 1)"),
    Term("SUM(CASE WHEN b THEN m ELSE 0 END)", odd=True),
    Term("AVG(m)"),
    Term("AVG(d)", odd=True),
    Term("AVG(x)", approximate=True),
    Term("AVG(f)", approximate=True),
    *(
        Term(f"GEOMETRIC_MEAN({c})", f"EXP(AVG(LN({c})))", approximate=True, odd=c in ("d", "w"))
        for c in "m n x f d w".split()
    ),
    *(
        Term(f"{f}({c})", odd=c in ("k", "d", "w", "name"))
        for f in ("MIN", "MAX")
        for c in "k b m n x f d w name day at".split()
    ),
    *HOLISTIC,
    # Of so few rows sketches know everything, percentiles if they are asked to be precise.
    *(
        Term(f"APPROX_COUNT_DISTINCT({c})", f"COUNT(DISTINCT {c})", odd=c == "d")
        for c in "k b m n x d name day at".split()
    ),
    Term("APPROX_COUNT_DISTINCT(name, method => 'theta')", "COUNT(DISTINCT name)"),
    Term("APPROX_COUNT_DISTINCT(f, 0.01, 'theta')", "COUNT(DISTINCT f)"),
    Term("APPROX_PERCENTILE(m, 0.9, 0.005)", _NINETIETH),
    Term("APPROX_PERCENTILE(x, 0.25, error => 0.001)", _PERCENTILE),
    Term("APPROX_COUNT(k, 'a')", "COUNT_IF(k = 'a')"),
    Term("APPROX_COUNT(m, 7)", "COUNT_IF(m = 7)"),
    Term("APPROX_TOP_K(k, 9)[0].count", _MOST.format(value="k"), odd=True),
    Term("APPROX_TOP_K(d, 9)[0].count", _MOST.format(value="d"), odd=True),
    Term("SUM(m) / COUNT(*)"),
    Term("ROUND(AVG(d), 2)", odd=True),
    Term("MAX(m) - MIN(m)", "TRY_SUBTRACT(MAX(m), MIN(m))"),
    Term("SUM(m) / SUM(g)", "TRY_DIVIDE(SUM(m), SUM(g))"),
    Term("COALESCE(MAX(name), 'none')", odd=True),
    Term("UPPER(MIN(name))", odd=True),
    Term("CASE WHEN COUNT(*) > 3 THEN MIN(g) END"),
    *(Term(f"{f}({c})", approximate=True) for f, c in zip(SPREADS, "m x f n".split(), strict=True)),
    Term("STDDEV(d)", approximate=True, odd=True),
    *(
        Term(f"{f}({c}){nulls}", f"{by}({c}, STRUCT(ts, {c})){rows.format(c)}", odd=c == "name")
        for f, by in (("FIRST", "MIN_BY"), ("LAST", "MAX_BY"))
        for nulls, rows in (("", ""), (" IGNORE NULLS", " FILTER (WHERE {} IS NOT NULL)"))
        for c in "b m x d name day".split()
    ),
)
KEYS = (
    *map(Term, ("k", "g", "b", "day", "d", "x", "at", "name")),
    Term("g % 3"),
    Term("UPPER(k)"),
    Term("DATE_TRUNC('HOUR', at)"),
    Term("m > 20"),
    Term("LENGTH(name) + g"),
)
CONDITIONS = (
    *map(Term, ("m > 30", "k = 'a' OR k IS NULL", "b")),
    *(Term("x > 1000.5"), Term("name LIKE 'r%'", odd=True)),
    Term("d BETWEEN -500000 AND 500000.25"),
    Term("NOT b AND g IN (1, 2, -3)"),
    Term("m / g > 1", "TRY_DIVIDE(m, g) > 1", odd=True),
    Term("day >= DATE '1969-12-31' AND at IS NOT NULL"),
)
# For many queries over one stream: equal, contained and covered ones, and one that nothing meets.
SHARED_CONDITIONS = (
    *map(Term, ("m > 30", "m > 10", "NOT (m > 30)", "m BETWEEN 11 AND 30", "m > 30 AND m < 5")),
    *map(Term, ("g = 1", "g IN (1, 2)", "g = 2", "k = 'a' OR g = 1", "k = 'a' AND g = 1")),
    *map(Term, ("k = 'a'", "k IN ('a', 'b', 'c')", "k IS NULL", "k = 'a' AND m > 10 OR b")),
    *CONDITIONS,
)
SHARED_KEYS: tuple[tuple[Term, ...], ...] = (
    *((), (Term("k"),), (Term("g"),), (Term("k"), Term("g")), (Term("b"), Term("k"))),
    (Term("g % 3", odd=True),),
)
HAVINGS = (
    *map(Term, ("COUNT(*) > 1", "SUM(m) > 50")),
    Term("MAX(n) IS NOT NULL AND MIN(d) < 0", odd=True),
    Term("AVG(m) BETWEEN -10 AND 60"),
)
SLIDES_MS = (250, 1000, 1500, 7000, 10_000, 60_000, 300_000, 3_600_000, 86_400_000)
RATIOS = (1, 1, 2, 5, 1.3, 2.5, 0.4, 0.75, 7, 12)


Keyed = dict[tuple[Any, ...], tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    """One random query over a stream with the columns of `streams.COLUMNS`."""

    name: str
    stream: str
    range_ms: int
    slide_ms: int
    start_ms: int
    keys: tuple[Term, ...]
    aggregates: tuple[Term, ...]
    where: Term | None
    having: Term | None
    descending: bool
    limit: int | None
    other_ms: int | None = None  # a second length

    def create(self, sink: str) -> str:
        """The standing query, in our language."""
        keys = [f"{key.sql} AS k{n}" for n, key in enumerate(self.keys)]
        values = [f"{term.sql} AS a{n}" for n, term in enumerate(self.aggregates)]
        return " ".join(
            [
                f"CREATE QUERY {self.name} INTO {sink} AS SELECT {', '.join(keys + values)}",
                f"FROM {self.stream} [{self._window()}]",
                f"WHERE {self.where.sql}" if self.where else "",
                f"GROUP BY {', '.join(key.sql for key in self.keys)}" if self.keys else "",
                f"HAVING {self.having.sql}" if self.having else "",
                f"ORDER BY a0{' DESC' * self.descending} LIMIT {self.limit}" if self.limit else "",
                ";",
            ]
        )

    def batch(self) -> str:
        """The same over a view with the stream's name, by Spark's own `window()`."""
        lengths = (self.range_ms, *([self.other_ms] if self.other_ms else []))
        return " UNION ALL ".join(f"({self._batch(range_ms)})" for range_ms in lengths)

    def _batch(self, range_ms: int) -> str:
        keys = [f"{key.oracle} AS k{n}" for n, key in enumerate(self.keys)]
        values = [f"{term.oracle} AS a{n}" for n, term in enumerate(self.aggregates)]
        hopping = self.slide_ms > range_ms
        offset = f"PMOD(UNIX_MICROS(ts) - {self.start_ms * 1000}, {self.slide_ms * 1000})"
        where = [f"({self.where.oracle})"] if self.where else []
        where += [f"{offset} < {range_ms * 1000}"] if hopping else []
        length = self.slide_ms if hopping else range_ms
        cut = ", ".join(f"'{ms} milliseconds'" for ms in (length, self.slide_ms, self.start_ms))
        groups = [f"window(ts, {cut})", *(key.oracle for key in self.keys)]
        start = "UNIX_MICROS(window.start)"
        bounds = [f"{start} AS s", f"{start} + {range_ms * 1000}L AS e"]
        answers = " ".join(
            [
                f"SELECT {', '.join(bounds + keys + values)}",
                f"FROM {self.stream} WHERE {' AND '.join(['TRUE', *where])}",
                f"GROUP BY {', '.join(groups)}",
                f"HAVING {self.having.oracle}" if self.having else "",
            ]
        )
        return self._top(answers) if self.limit else answers

    def compare(self, answers: pa.Table, batch: pa.Table) -> int:
        """Equal row for row, whatever the order; returns how many rows there are.

        The other side may be another run's answers.
        """
        is_ours = "window_start" in batch.column_names
        return self.compare_keyed(answers, self.keyed(self._asked(batch) if is_ours else batch))

    def compare_keyed(self, answers: pa.Table, want: Keyed) -> int:
        """With a batch that has been keyed before, since several runs are compared with it."""
        got = self.keyed(self._asked(answers))
        assert got.keys() == want.keys(), self._story(got.keys() ^ want.keys())
        for key, values in want.items():
            for term, mine, theirs in zip(self.aggregates, got[key], values, strict=True):
                same = close(mine, theirs) if term.approximate else mine == theirs
                assert same, f"{self.create('s')}\n{key}: {term.sql} = {mine}, batch: {theirs}"
        return len(want)

    def _asked(self, answers: pa.Table) -> pa.Table:
        """Without the columns that some aggregates bring along."""
        bounds = ("window_start", "window_end")
        return answers.select([*bounds, *self._key_names(), *self._value_names()])

    def _window(self) -> str:
        start = f" START '{self.start_ms} ms'" if self.start_ms else ""
        other = f", {self.other_ms} ms" if self.other_ms else ""
        return f"RANGE {self.range_ms} ms{other} SLIDE {self.slide_ms} ms{start}"

    def _top(self, answers: str) -> str:
        order = ", ".join(["a0 DESC" if self.descending else "a0", *self._key_names()])
        ranked = f"SELECT *, ROW_NUMBER() OVER (PARTITION BY s ORDER BY {order}) AS r"
        kept = ", ".join(["s", "e", *self._key_names(), *self._value_names()])
        return f"SELECT {kept} FROM ({ranked} FROM ({answers})) WHERE r <= {self.limit}"

    def _key_names(self) -> list[str]:
        return [f"k{n}" for n in range(len(self.keys))]

    def _value_names(self) -> list[str]:
        """Without the bounds that an approximate one has beside its value."""
        return [f"a{n}" for n in range(len(self.aggregates))]

    def keyed(self, rows: pa.Table) -> Keyed:
        """Values by (window start, window end, group): a group has one row in a window."""
        tuples = list(zip(*map(plain_values, rows.columns), strict=True))
        cut = 2 + len(self.keys)
        keyed = {row[:cut]: row[cut:] for row in tuples}
        assert len(keyed) == len(tuples), f"{self.name}: a group twice in a window"
        return keyed

    def _story(self, keys: Any) -> str:
        some = sorted(keys, key=repr)[:5]
        return f"{self.create('s')}\n{len(keys)} rows on one side alone, such as {some}"


def random_cases(rng: random.Random, stream: str, families: int, members: int) -> Iterator[Case]:
    """Families of queries with equal WHERE and GROUP BY, which share their slices.

    Terms are dealt from shuffled packs, so that every one of them has its turn.
    """
    conditions, keys, aggregates = (_dealt(rng, pack) for pack in (CONDITIONS, KEYS, AGGREGATES))
    for family in range(families):
        grouping = tuple(next(keys) for _ in range(family % 4))
        where = next(conditions) if rng.random() < 0.7 else None
        for member in range(members):
            values = tuple(next(aggregates) for _ in range(rng.randrange(2, 5)))
            yield _random_case(rng, f"q{family}{member}_{stream}", stream, where, grouping, values)


def shared_cases(
    rng: random.Random, stream: str, count: int, odd_share: float = 1.0
) -> Iterator[Case]:
    """Queries of all sorts over one stream: conditions, keys, windows of one or two lengths.

    All but a share of them use only what arrays of plain columns can give.
    """
    # What Spark must finish takes a job a query and tick; other stories have enough of those.
    kept = [term for term in AGGREGATES if "UPPER" not in term.sql and "ARRAY" not in term.sql]
    dealt = {False: _dealt(rng, _plain(kept)), True: _dealt(rng, kept)}
    for number in range(count):
        odd = rng.random() < odd_share
        where = rng.choice((None, *(SHARED_CONDITIONS if odd else _plain(SHARED_CONDITIONS))))
        values = tuple(next(dealt[odd]) for _ in range(rng.randrange(1, 4)))
        keys = rng.choice([keys for keys in SHARED_KEYS if odd or _plain(keys) == list(keys)])
        case = _random_case(rng, f"q{number}", stream, where, keys, values)
        if not odd and case.having and case.having.odd:
            case = replace(case, having=None)
        longer = rng.random() < 0.15
        yield replace(case, other_ms=case.range_ms + case.slide_ms // 2) if longer else case


def _plain(terms: Sequence[Term]) -> list[Term]:
    return [term for term in terms if not term.odd]


def _dealt(rng: random.Random, pack: Sequence[Term]) -> Iterator[Term]:
    return itertools.cycle(rng.sample(pack, len(pack)))


def _random_case(
    rng: random.Random,
    name: str,
    stream: str,
    where: Term | None,
    keys: tuple[Term, ...],
    values: tuple[Term, ...],
) -> Case:
    slide_ms = rng.choice(SLIDES_MS)
    # The order of float sums is not settled, so nothing is cut off by one.
    is_ordered = not values[0].approximate and not values[0].nested
    limit = None if not is_ordered else rng.choice((None, None, None, 1, 3))
    return Case(
        name=name,
        stream=stream,
        range_ms=round(slide_ms * rng.choice(RATIOS)),
        slide_ms=slide_ms,
        start_ms=rng.choice((0, 0, rng.randrange(slide_ms), -rng.randrange(slide_ms))),
        keys=keys,
        aggregates=values,
        where=where,
        having=rng.choice((None, None, None, *HAVINGS)),
        descending=rng.random() < 0.5,
        limit=limit,
    )


def batch_answers(spark: SparkSession, case: Case) -> pa.Table:
    return all_batch_answers(spark, [case])[0]


def all_batch_answers(spark: SparkSession, cases: Sequence[Case]) -> list[pa.Table]:
    """The batch answers of many queries, some of them at a time."""
    with interpreted(spark), ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda case: spark.sql(case.batch()).toArrow(), cases))


def compare_all(spark: SparkSession, cases: Sequence[Case], answers: Mapping[str, pa.Table]) -> int:
    """How many rows the queries have, all of them as batch SQL has them."""
    batches = all_batch_answers(spark, cases)
    pairs = zip(cases, batches, strict=True)
    return sum(case.compare(answers[case.name], batch) for case, batch in pairs)


def many_batch_answers(spark: SparkSession, cases: Sequence[Case]) -> list[Keyed]:
    tables = all_batch_answers(spark, cases)
    return [case.keyed(rows) for case, rows in zip(cases, tables, strict=True)]


@contextmanager
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Spark without code generation and with one partition: many small batch queries, fast."""
    with ExitStack() as stack:
        for name, value in _INTERPRETED.items():
            stack.callback(spark.conf.set, name, str(spark.conf.get(name)))
            spark.conf.set(name, value)
        yield


_INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}


def close(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, float) and isinstance(theirs, float):
        return math.isclose(mine, theirs, rel_tol=FLOAT_TOLERANCE)
    return bool(mine == theirs)


def plain_values(column: pa.ChunkedArray) -> list[Any]:
    """Comparable and hashable: times as numbers, since Python's dates end with 9999."""
    if pa.types.is_timestamp(column.type):
        return list(column.cast(pa.int64()).to_pylist())
    return [_comparable(value) for value in column.to_pylist()]


def _comparable(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, Decimal):
        return value.normalize()
    if isinstance(value, list):
        return tuple(map(_comparable, value))
    if isinstance(value, dict):
        return tuple((name, _comparable(inner)) for name, inner in value.items())
    return value
