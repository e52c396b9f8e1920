"""Random joins of windows: the plan's terms give the groups that DuckDB has for the same text.

Windows are left out: all rows lie in each. So the text without them is a plain SELECT.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import duckdb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.plan.joined_rows import counted, joined_groups, side_rows
from tests.plan.test_derived_streams import ENVIRONMENT, catalog_of
from tidemill.errors import TidemillError
from tidemill.language import parse_script, render
from tidemill.language.statements import CreateQuery
from tidemill.plan.bind.binder import bind_query
from tidemill.plan.query import QueryPlan

STREAMS = ("a", "b", "c", "d")
SCRIPT = "\n".join(
    f"CREATE STREAM {name} (ts TIMESTAMP, k {kind}, j INT, v INT) ORDER BY ts SOURCE 'parquet:{name}';"
    for name, kind in zip(STREAMS, ("INT", "BIGINT", "INT", "SMALLINT"), strict=True)
)
CATALOG = catalog_of(SCRIPT)
WINDOW = re.compile(r" \[[^\]]*\]")
KINDS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")

numbers = st.none() | st.integers(0, 2)
tables = st.lists(st.tuples(numbers, numbers, numbers), max_size=4)


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
    for name in others:
        kind = draw(st.sampled_from((*KINDS, ",")))
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
        further = draw(st.lists(conditions([*near, name]), max_size=2))
        text += f" {kind} {window} ON {' AND '.join([*equal, *further])}"
        if kind not in KINDS[-2:]:
            seen.append(name)
            near.append(name)
    wheres += draw(st.lists(conditions(seen), max_size=2))
    wheres += draw(st.lists(looks(seen, columns), max_size=2))
    group = draw(st.lists(groups(seen), max_size=2, unique=True))
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


def bound(text: str) -> QueryPlan:
    (query,) = parse_script(f"CREATE QUERY q AS {text}")
    assert isinstance(query, CreateQuery)
    assert parse_script(render(query)) == (query,)
    plan = bind_query(query, CATALOG, ENVIRONMENT)
    assert isinstance(plan, QueryPlan)
    return plan


def check(case: Case, plan: QueryPlan) -> Counter[tuple[object, ...]]:
    with duckdb.connect() as connection:
        for name, rows in case.tables:
            connection.execute(f"CREATE TABLE {name} (k BIGINT, j INT, v INT)")
            if rows:
                connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", rows)
        text = WINDOW.sub("", case.query).replace("LEFT SEMI", "SEMI").replace("LEFT ANTI", "ANTI")
        expected = Counter(connection.execute(text).fetchall())
        if "GROUP BY" not in text:
            # Without groups SQL has a row for nothing at all; there is no answer without rows.
            place = len(plan.keys)
            expected = Counter(row for row in expected if row[place])
        calls = [call.function for call in plan.aggregates]
        if plan.join is None:
            return expected
        actual = counted(joined_groups(plan, side_rows(plan, connection)), calls)
        places = [_place(output.node, plan) for output in plan.outputs]
        assert Counter({tuple(r[p] for p in places): n for r, n in actual.items()}) == expected
        return expected


def _place(node: object, plan: QueryPlan) -> int:
    return [*(k.slot for k in plan.keys), *(a.slot for a in plan.aggregates)].index(node)


TALLY: Counter[str] = Counter()


@settings(
    max_examples=600, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(cases())
def test_the_terms_of_a_join_give_the_groups_that_sql_has(case: Case) -> None:
    try:
        plan = bound(case.query)
    except TidemillError as error:
        assert error.code == "E_NOT_BUILT", case.query
        TALLY[f"refused: {error.problem.primary}"] += 1
        return
    rows = check(case, plan)
    if plan.join is not None:
        TALLY["joins"] += 1
        TALLY["with rows"] += bool(rows)
        TALLY[f"{len(plan.join.sides)} sides"] += 1
