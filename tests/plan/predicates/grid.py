"""Random conditions over a small table that holds every case they can tell apart.

Constants come from short lists, and the table is the product of all constants, their
neighbours, the extremes and NULL. So two conditions mean the same exactly if they pass the
same rows of the table, as DuckDB evaluates them.
"""

from __future__ import annotations

import atexit
from functools import cache
from itertools import product

import duckdb
from hypothesis import strategies as st

from tidemill.language.expressions.trees import parse_tree
from tidemill.plan.expressions import Slot
from tidemill.plan.normal_form import normal_form
from tidemill.plan.predicates import Predicate, canonical
from tidemill.plan.scalars import make_scalar
from tidemill.types import BOOLEAN, INT, STRING, parse_type

TYPES = {"port": INT, "proto": STRING, "cost": parse_type("decimal(3,1)"), "ok": BOOLEAN}
VALUES = {
    "port": ["-2147483648", "-6", "-5", "-4", "79", "80", "81", "2147483647", "NULL"],
    "proto": ["''", "'TCP'", "'TCPx'", "'a'", "'é'", "NULL"],
    "cost": ["-99.9", "1.4", "1.5", "1.6", "2.0", "99.9", "NULL"],
    "ok": ["TRUE", "FALSE", "NULL"],
}
CONSTANTS = {
    "port": ["-5", "80", "81", "80.5", "3000000000", "-3000000000", "NULL"],
    "proto": ["''", "'TCP'", "'a'", "NULL"],
    "cost": ["1.5", "2", "1.55", "100", "NULL"],
    "ok": ["TRUE", "FALSE", "NULL"],
}
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "<=>")


def scalar(text, types=TYPES):
    """The condition as a query's WHERE is bound."""
    tree = parse_tree(text)
    used = {column.name for column in tree.find_all(type(parse_tree("x")))}
    columns = tuple(name for name in types if name in used)
    return make_scalar(normal_form(tree, types), types, BOOLEAN, columns)


def read(text, types=TYPES) -> Predicate:
    return canonical(scalar(text, types), types)


def _atoms(column):
    constant = st.sampled_from(CONSTANTS[column])
    compare = st.builds(
        lambda op, value, swap: f"{value} {op} {column}" if swap else f"{column} {op} {value}",
        st.sampled_from(COMPARISONS),
        constant,
        st.booleans(),
    )
    members = st.lists(constant, min_size=1, max_size=3).map(
        lambda values: f"{column} IN ({', '.join(values)})"
    )
    between = st.builds(lambda a, b: f"{column} BETWEEN {a} AND {b}", constant, constant)
    null = st.sampled_from([f"{column} IS NULL", f"{column} IS NOT NULL"])
    return st.one_of(compare, members, between, null)


ATOMS = st.one_of(
    *map(_atoms, TYPES),
    st.sampled_from(["ok", "ok IS TRUE", "ok IS NOT FALSE", "TRUE", "FALSE", "NULL"]),
)
RESIDUALS = st.sampled_from(["proto LIKE 'T%'", "proto LIKE '%x'", "port > cost", "cost < 1e0"])


def conditions(atoms=ATOMS, most=6):
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            inner.map(lambda text: f"NOT ({text})"),
            st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(
                lambda parts: f"({parts[0]}) {parts[1]} ({parts[2]})"
            ),
        ),
        max_leaves=most,
    )


@cache
def database():
    """The product of all values, numbered."""
    base = duckdb.connect()
    atexit.register(database.cache_clear)
    kinds = {"port": "INT", "proto": "VARCHAR", "cost": "DECIMAL(3,1)", "ok": "BOOLEAN"}
    columns = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    base.execute(f"CREATE TABLE grid (id INT, {columns})")
    rows = product(*VALUES.values())
    texts = [f"({number}, {', '.join(row)})" for number, row in enumerate(rows)]
    base.execute(f"INSERT INTO grid VALUES {', '.join(texts)}")
    return base


@cache
def passing(text) -> frozenset[int]:
    """The rows of the grid for which DuckDB says the condition is true."""
    text = text.replace("<=>", "IS NOT DISTINCT FROM")
    return frozenset(number for (number,) in _select(f"SELECT id FROM grid WHERE {text}"))


def _select(sql):
    return database().execute(sql).fetchall()


@cache
def points():
    """The rows of the grid by id, as points on the columns' lines."""
    rows = _select("SELECT id, port, encode(proto), cost * 10, ok FROM grid")
    return {number: dict(zip(TYPES, _on_lines(row), strict=True)) for number, *row in rows}


def _on_lines(row):
    port, proto, cost, ok = row
    return port, proto, None if cost is None else int(cost), None if ok is None else int(ok)


def members(predicate) -> frozenset[int]:
    """The rows of the grid inside the boxes; opaque conditions are asked of DuckDB."""
    truths = {each: _truths(each.sql) for each in predicate.residuals}

    def value(number, dimension):
        if isinstance(dimension, Slot):
            return points()[number][dimension.name]
        return truths[dimension][number]

    return frozenset(
        number
        for number in points()
        if any(
            all(value(number, dimension) in allowed for dimension, allowed in box.sides)
            for box in predicate.boxes
        )
    )


@cache
def _truths(text):
    text = text.replace("<=>", "IS NOT DISTINCT FROM")
    return dict(_select(f"SELECT id, CAST(({text}) AS INT) FROM grid"))
