"""Random joins of windows: the plan's terms give the groups that DuckDB has for the same text.

Windows are left out: all rows lie in each. So the text without them is a plain SELECT.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plan.joined_rows import Row, counted, joined_groups, side_rows
from tests.plan.test_derived_streams import ENVIRONMENT, catalog_of
from tidemill.errors import TidemillError
from tidemill.language import parse_script, render
from tidemill.language.statements import CreateQuery
from tidemill.plan.bind.binder import bind_query
from tidemill.plan.query import QueryPlan

STREAMS = ("a", "b", "c", "d")
SCRIPT = "\n".join(
    f"CREATE STREAM {name} (ts TIMESTAMP, k {kind}, j INT, v INT) ORDER BY ts SOURCE 'csv:{name}';"
    for name, kind in zip(STREAMS, ("INT", "BIGINT", "INT", "SMALLINT"), strict=True)
)
CATALOG = catalog_of(SCRIPT)
WINDOW = re.compile(r" \[[^\]]*\]")
KINDS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")

keys = st.sampled_from((0, 0, 0, 1, 1, None))
numbers = st.sampled_from((0, 1, 2, None))
tables = st.lists(st.tuples(keys, keys, numbers), min_size=2, max_size=5)


@dataclass(frozen=True)
class Case:
    query: str
    tables: tuple[tuple[str, tuple[tuple[int | None, ...], ...]], ...]


@st.composite
def conditions(draw: st.DrawFn, names: list[str]) -> str:
    """A condition about one side."""
    name = draw(st.sampled_from(names))
    column = draw(st.sampled_from(("v", "v", "j", "k")))
    form = draw(
        st.sampled_from(
            (
                "{x} > 0",
                "{x} = 1",
                "{x} IS NULL",
                "{x} IS NOT NULL",
                "({x} = 1 OR {x} IS NULL)",
                "COALESCE({x}, 1) = 1",
                "NOT ({x} > 1)",
                "{x} IN (0, 2)",
            )
        )
    )
    return form.format(x=f"{name}.{column}")


@st.composite
def cases(draw: st.DrawFn) -> Case:
    columns = draw(st.sampled_from((("k",), ("k",), ("k", "j"))))
    count = draw(st.integers(1, 4))
    first, *others = draw(st.permutations(STREAMS))[:count]
    seen, near = [first], [first]
    text, wheres = f"{first} [RANGE 9 s SLIDE 3 s] AS {first}", list[str]()
    by_using = draw(st.booleans())
    for name in others:
        kind = draw(st.sampled_from(KINDS if by_using else (*KINDS, ",")))
        # After a comma, ON names what stands behind it alone; WHERE names all.
        partner = draw(st.sampled_from(seen if kind == "," else near))
        equal = [f"{partner}.{column} = {name}.{column}" for column in columns]
        window = f"{name} [RANGE {draw(st.integers(1, 9))} s] AS {name}"
        if kind == ",":
            text += f", {window}"
            wheres += equal
            seen.append(name)
            near = [name]
            continue
        further = draw(st.lists(conditions([*near, name]), max_size=1))
        on = (
            f"USING ({', '.join(columns)})"
            if by_using
            else f"ON {' AND '.join([*equal, *further])}"
        )
        text += f" {kind} {window} {on}"
        if kind not in KINDS[-2:]:
            seen.append(name)
            near.append(name)
    wheres += draw(st.lists(conditions(seen), max_size=1))
    wheres += draw(st.lists(looks(seen, columns), max_size=1))
    merged = columns if by_using and len(seen) > 1 else ()
    group = draw(st.lists(groups(seen) | st.sampled_from(merged or ["1"]), max_size=2, unique=True))
    group = [key for key in group if key != "1"]
    summed = draw(st.sampled_from(seen))
    items = [*group, "COUNT(*)", f"SUM({summed}.v)", f"COUNT({draw(st.sampled_from(seen))}.j)"]
    query = f"SELECT {', '.join(f'{item} AS o{n}' for n, item in enumerate(items))} FROM {text}"
    query += f" WHERE {' AND '.join(wheres)}" if wheres else ""
    query += f" GROUP BY {', '.join(group)}" if group else ""
    rows = {name: tuple(draw(tables)) for name in STREAMS}
    return Case(query, tuple(rows.items()))


@st.composite
def looks(draw: st.DrawFn, seen: list[str], columns: tuple[str, ...]) -> str:
    outer, stream = draw(st.sampled_from(seen)), draw(st.sampled_from(STREAMS))
    further = draw(st.lists(conditions(["s"]), max_size=1))
    word = draw(st.sampled_from(("", "NOT ")))
    relation = f"{stream} [RANGE 4 s] AS s"
    if len(columns) == 1 and draw(st.booleans()):
        condition = f" WHERE {further[0]}" if further else ""
        return f"{outer}.{columns[0]} {word}IN (SELECT s.{columns[0]} FROM {relation}{condition})"
    equal = [f"s.{column} = {outer}.{column}" for column in columns]
    return f"{word}EXISTS (SELECT 1 FROM {relation} WHERE {' AND '.join([*equal, *further])})"


@st.composite
def groups(draw: st.DrawFn, seen: list[str]) -> str:
    name = draw(st.sampled_from(seen))
    return f"{name}.{draw(st.sampled_from(('k', 'j', 'v')))}"


def rows_of_sql(case: Case, connection: duckdb.DuckDBPyConnection) -> Counter[Row]:
    text = WINDOW.sub("", case.query).replace("LEFT SEMI", "SEMI").replace("LEFT ANTI", "ANTI")
    rows = Counter(connection.execute(text).fetchall())
    if "GROUP BY" in text:
        return rows
    # SQL has a row for nothing at all; an answer needs rows. COUNT(*) stands first there.
    return Counter(row for row in rows.elements() if row[0])


def rows_of_terms(plan: QueryPlan, connection: duckdb.DuckDBPyConnection) -> Counter[Row]:
    calls = [call.function for call in plan.aggregates]
    rows = counted(joined_groups(plan, side_rows(plan, connection)), calls)
    slots = [*(key.slot for key in plan.keys), *(call.slot for call in plan.aggregates)]
    places = [[str(slot) for slot in slots].index(str(output.node)) for output in plan.outputs]
    return Counter(tuple(row[place] for place in places) for row in rows.elements())


def test_the_terms_of_a_join_give_the_groups_that_sql_has() -> None:
    tally: Counter[str] = Counter()

    @settings(max_examples=300, deadline=None, derandomize=True, database=None)
    @given(cases())
    def check(case: Case) -> None:
        plan = plan_or_refusal(case.query)
        if isinstance(plan, str):
            tally[plan] += 1
        elif plan.join is not None:
            with tables_of(case) as connection:
                rows = rows_of_sql(case, connection)
                assert rows_of_terms(plan, connection) == rows
            tally.update(told_of(case, plan, bool(rows)))

    check()
    # A column that USING has merged in a full join is that of two windows.
    assert tally["E_NOT_BUILT"] < 40
    assert min(tally[kind] for kind in (*KINDS, ",", "EXISTS", "NOT IN", "USING")) >= 10
    assert tally["with rows"] >= 100
    assert min(tally[f"{count} sides"] for count in (2, 3, 4)) >= 20


def plan_or_refusal(text: str) -> QueryPlan | str:
    (query,) = parse_script(f"CREATE QUERY q AS {text}")
    assert isinstance(query, CreateQuery)
    assert parse_script(render(query)) == (query,)
    try:
        plan = bind_query(query, CATALOG, ENVIRONMENT)
    except TidemillError as error:
        return error.code
    assert isinstance(plan, QueryPlan)
    return plan


@contextmanager
def tables_of(case: Case) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        for name, rows in case.tables:
            connection.execute(f"CREATE TABLE {name} (k BIGINT, j INT, v INT)")
            if rows:
                connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", rows)
        yield connection


def told_of(case: Case, plan: QueryPlan, has_rows: bool) -> Iterator[str]:
    """What a case shows, to be counted."""
    assert plan.join is not None
    yield f"{len(plan.join.sides)} sides"
    yield from (kind for kind in (*KINDS, "EXISTS", "NOT IN", "USING") if f" {kind} " in case.query)
    yield from [","] * (", " in case.query.partition(" FROM ")[2].partition(" WHERE ")[0])
    yield from ["with rows"] * has_rows
