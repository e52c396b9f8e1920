"""The rows that a plan of a join of windows stands for, over toy rows, one by one.

Each part's own expressions are evaluated by DuckDB; what its rows give to the join is worked out
here, term by term, as `plan/window_join.py` says it. It is slow and plain.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import duckdb
import sqlglot

from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_name
from tidemill.plan.window_join import Among, Guard, JoinTerm, RowClass

Row = tuple[Any, ...]


@dataclass(frozen=True)
class SideRow:
    """A row of a part: its join key, its flags, all its keys, and the arguments of its calls."""

    key: Row
    flags: Row
    keys: Row
    arguments: Row


def in_duckdb(spark_sql: str) -> str:
    return sqlglot.transpile(spark_sql, read="spark", write="duckdb")[0]


def side_rows(plan: QueryPlan, connection: duckdb.DuckDBPyConnection) -> list[list[SideRow]]:
    """The rows of each side; a table of DuckDB has those of each stream."""
    assert plan.join is not None
    return [
        [
            row
            for number in side.parts
            for row in _part_rows(plan, plan.parts[number], side.flags, connection)
        ]
        for side in plan.join.sides
    ]


def _part_rows(
    plan: QueryPlan, part: QueryPlan, flags: int, connection: duckdb.DuckDBPyConnection
) -> Iterator[SideRow]:
    assert plan.join is not None
    types = plan.join.key
    keys = [key.scalar.sql for key in part.keys]
    widened = [f"CAST({sql} AS {kind.sql})" for sql, kind in zip(keys, types, strict=False)]
    arguments = [call.argument.sql for call in part.aggregates if call.argument]
    assert len(arguments) == len(part.aggregates)
    condition = f" WHERE {part.where.sql}" if part.where else ""
    items = ", ".join([*widened, *keys, *arguments, "1"])
    rows = connection.execute(
        in_duckdb(f"SELECT {items} FROM {source_name(part.relation)}{condition}")
    ).fetchall()
    begin, end = len(types), len(types) + len(keys)
    for row in rows:
        own = row[begin:end]
        yield SideRow(row[:begin], own[len(types) : len(types) + flags], own, row[end:-1])


def joined_groups(plan: QueryPlan, sides: Sequence[Sequence[SideRow]]) -> Mapping[Row, list[Row]]:
    """For each group the values that each call is over, one list of them a row of the join."""
    assert plan.join is not None
    groups: dict[Row, list[Row]] = defaultdict(list)
    for term in plan.join.terms:
        for rows in _products(term, sides):
            chosen = [
                next((rows[p.side].keys[p.place] for p in places if rows[p.side]), None)
                for places in plan.join.groups
            ]
            values = [
                1 if p is None else rows[p.side].arguments[p.place] if rows[p.side] else None
                for p in plan.join.calls
            ]
            groups[tuple(chosen)].append(tuple(values))
    return groups


def _products(term: JoinTerm, sides: Sequence[Sequence[SideRow]]) -> Iterator[list[Any]]:
    keys = {row.key for rows in sides for row in rows}
    for key in keys:
        if None in key and len(term.sides) > 1:
            continue
        classes = [
            [None] if rows is None else [r for r in side if r.key == key and is_in(r, rows)]
            for rows, side in zip(term.rows, sides, strict=True)
        ]
        if all(holds(guard, key, sides) for guard in term.guards):
            yield from map(list, product(*classes))


def is_in(row: SideRow, rows: RowClass) -> bool:
    pairs = zip(row.flags, rows.flags, strict=True)
    return all(value is None or flag is value for flag, value in pairs)


def holds(guard: Guard, key: Row, sides: Sequence[Sequence[SideRow]]) -> bool:
    rows = [row for row in sides[guard.side] if is_in(row, guard.rows)]
    if guard.among is Among.KEY:
        rows = [row for row in rows if row.key == key and None not in key]
    elif guard.among is Among.NULL_KEYS:
        rows = [row for row in rows if None in row.key]
    return bool(rows) is guard.exists


def counted(groups: Mapping[Row, list[Row]], calls: Sequence[str]) -> Counter[Row]:
    """A row for each group: its values, and its COUNTs and SUMs."""
    rows: Counter[Row] = Counter()
    for group, values in groups.items():
        columns = zip(*values, strict=True)
        rows[(*group, *(_lowered(c, list(v)) for c, v in zip(calls, columns, strict=True)))] += 1
    return rows


def _lowered(call: str, values: list[Any]) -> int | None:
    present = [value for value in values if value is not None]
    if call == "COUNT":
        return len(present)
    return sum(present) if present else None
