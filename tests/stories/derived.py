"""Random streams over streams, as one text that is a stream here and a view in batch SQL."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.stories.oracle import Case, Term

# What a column is like, as far as expressions and conditions ask; HUGE ones are never added up.
WHOLE, HUGE, TEXT, TRUTH, OTHER = "whole", "huge", "text", "truth", "other"
BASE = {
    **dict.fromkeys(("k", "name"), TEXT),
    **dict.fromkeys(("g", "m"), WHOLE),
    **dict.fromkeys(("day", "at", "d", "x"), OTHER),
    "b": TRUTH,
    "n": HUGE,
}
# None of them raises, so that batch SQL can be asked for rows outside a stream, too.
COMPUTED = {
    WHOLE: (
        ("{} % 5", WHOLE),
        ("CAST({} AS BIGINT) * 8", WHOLE),
        ("{} > 3", TRUTH),
        ("CASE WHEN {0} > 0 THEN {0} ELSE 0 END", WHOLE),
        ("CAST({} AS DECIMAL(20,0)) / 7", OTHER),
    ),
    HUGE: (("{} IS NULL", TRUTH), ("{} > 0", TRUTH)),
    TEXT: (("UPPER({})", TEXT), ("COALESCE({}, 'none')", TEXT), ("LENGTH({})", WHOLE)),
    TRUTH: (("NOT {}", TRUTH), ("IF({}, 1, 2)", WHOLE)),
    OTHER: (("{} IS NOT NULL", TRUTH),),
}
CONDITIONS = {
    WHOLE: ("{} > -2", "{} IN (0, 1, 2, 7)", "{} BETWEEN -10 AND 40", "NOT ({} > 30)"),
    HUGE: ("{} <> 0",),
    TEXT: ("{} <> 'a'", "{} IS NOT NULL", "{} IN ('a', 'A', 'b')", "{} > 'B'"),
    TRUTH: ("{}", "NOT {}", "{} IS NOT TRUE"),
    OTHER: ("{} IS NOT NULL",),
}
AGGREGATES = {
    WHOLE: ("SUM({})", "MAX({})", "AVG({})", "COUNT(DISTINCT {})"),
    HUGE: ("MIN({})", "COUNT({})"),
    TEXT: ("MIN({})", "COUNT({})", "COUNT(DISTINCT {})"),
    TRUTH: ("MAX({})", "COUNT({})"),
    OTHER: ("MAX({})", "COUNT({})"),
}


@dataclass(frozen=True)
class Stream:
    """A stream, or a view, by its text."""

    name: str
    time: str
    columns: dict[str, str]
    select: str = ""

    @property
    def create(self) -> str:
        return f"CREATE STREAM {self.name} AS {self.select};"

    @property
    def view(self) -> str:
        return f"CREATE OR REPLACE TEMPORARY VIEW {self.name} AS {self.select}"


SOURCE = Stream("s", "ts", BASE)


def random_streams(rng: random.Random, count: int) -> list[Stream]:
    """Each over the source or one before it; every kind of change has its turn."""
    streams = [SOURCE]
    for number in range(count):
        below = rng.choice((SOURCE, *streams[-4:]))
        streams.append(_random_stream(rng, f"v{number}", below, number))
    return streams[1:]


def _random_stream(rng: random.Random, name: str, below: Stream, number: int) -> Stream:
    time, alias = below.time, "v" if number % 2 else below.name
    read = f"{below.name}{' AS v' if number % 2 else ''}"
    columns, items = {}, []
    if number % 4 == 1:
        items, columns = [rng.choice(("*", f"{alias}.*"))], dict(below.columns)
    else:
        time = rng.choice((time, f"t{number}"))
        items.append(time if time == below.time else f"{alias}.{below.time} AS {time}")
        for column in rng.sample(sorted(below.columns), min(8, len(below.columns))):
            new = column if rng.random() < 0.6 else f"{column}_{number}"
            items.append(column if new == column else f"{column} AS {new}")
            columns[new] = below.columns[column]
    for place in range(rng.randrange(1, 4)):
        column = rng.choice(sorted(below.columns))
        form, kind = rng.choice(COMPUTED[below.columns[column]])
        items.append(f"{form.format(column)} AS c{number}_{place}")
        columns[f"c{number}_{place}"] = kind
    if number % 5 == 2 and number % 4 != 1:
        key = next((c for c, kind in sorted(below.columns.items()) if kind == TEXT), None)
        if key is not None:
            read += (
                f" {rng.choice(('LEFT JOIN', 'JOIN'))} owners AS o{number} ON {key} = o{number}.ok"
            )
            items += [f"o{number}.owner AS owner{number}", f"weight AS weight{number}"]
            columns |= {f"owner{number}": TEXT, f"weight{number}": WHOLE}
    if number % 6 == 5:
        items.append("'web' AS kind")
        columns["kind"] = TEXT
    rng.shuffle(items) if number % 4 != 1 else None
    where = "" if number % 3 == 1 else f" WHERE {_condition(rng, below)}"
    if number == 7:
        where = " WHERE FALSE"
    return Stream(name, time, columns, f"SELECT {', '.join(items)} FROM {read}{where}")


def _condition(rng: random.Random, stream: Stream) -> str:
    parts = [
        rng.choice(CONDITIONS[stream.columns[column]]).format(column)
        for column in rng.sample(sorted(stream.columns), rng.randrange(1, 3))
    ]
    return rng.choice((" AND ", " OR ", " OR ")).join(parts)


@dataclass(frozen=True)
class OfStream(Case):
    """A query over a stream whose time may have another name."""

    time: str = "ts"

    def _batch(self, range_ms: int) -> str:
        text = super()._batch(range_ms)
        return text.replace("UNIX_MICROS(ts)", f"UNIX_MICROS({self.time})").replace(
            "window(ts,", f"window({self.time},"
        )


def random_queries(
    rng: random.Random, streams: Sequence[Stream], members: int
) -> Iterator[OfStream]:
    """So many queries over each of the streams."""
    for stream in streams:
        for member in range(members):
            yield _random_query(rng, stream, f"q{member}_{stream.name}")


def _random_query(rng: random.Random, stream: Stream, name: str) -> OfStream:
    names = sorted(stream.columns)
    keys = rng.sample([n for n in names if stream.columns[n] != HUGE], rng.randrange(3))
    values = [
        rng.choice(AGGREGATES[stream.columns[column]]).format(column)
        for column in rng.sample(names, 2)
    ]
    slide_ms = rng.choice((1000, 1500, 10_000, 60_000))
    return OfStream(
        name=name,
        stream=stream.name,
        range_ms=round(slide_ms * rng.choice((1, 2, 2.5, 5))),
        slide_ms=slide_ms,
        start_ms=rng.choice((0, 300)),
        keys=tuple(map(Term, keys)),
        aggregates=(Term("COUNT(*)"), *map(Term, values)),
        where=Term(_condition(rng, stream)) if rng.random() < 0.5 else None,
        having=None,
        descending=rng.random() < 0.5,
        limit=rng.choice((None, None, 2)),
        time=stream.time,
    )
