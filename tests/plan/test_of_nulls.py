"""What expressions are where all columns are NULL, against DuckDB."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plan.joined_rows import in_duckdb
from tidemill.language.expressions.trees import parse_tree
from tidemill.plan.bind.joined.nulls import NullOutcome, of_nulls, truth_of_nulls
from tidemill.plan.normal_form import normal_form
from tidemill.types import BOOLEAN, INT

TYPES = {"x": INT, "y": INT, "b": BOOLEAN}

numbers = st.recursive(
    st.sampled_from(("x", "y", "0", "1", "5", "NULL")),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(("{} + {}", "{} * {}", "COALESCE({}, {})")), inner, inner),
        st.tuples(st.sampled_from(("ABS({})", "-({})", "CAST({} AS BIGINT)")), inner),
    ).map(lambda parts: "(" + parts[0].format(*parts[1:]) + ")"),
    max_leaves=4,
)
tests = st.one_of(
    st.tuples(st.sampled_from(("{} = {}", "{} <> {}", "{} < {}", "{} >= {}", "{} <=> {}"))),
    st.tuples(st.sampled_from(("{} BETWEEN 0 AND {}",))),
)
atoms = st.one_of(
    st.tuples(tests, numbers, numbers).map(lambda parts: parts[0][0].format(*parts[1:])),
    st.tuples(
        st.sampled_from(("{} IS NULL", "{} IS NOT NULL", "{} IN (0, 5)", "{} IN (1, NULL)")),
        numbers,
    ).map(lambda parts: parts[0].format(parts[1])),
    st.sampled_from(("b", "TRUE", "FALSE", "b IS TRUE", "b IS NOT FALSE", "NULL")),
)
conditions = st.recursive(
    atoms.map("({})".format),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(("({} AND {})", "({} OR {})")), inner, inner),
        st.tuples(st.just("(NOT {})"), inner),
        st.tuples(st.just("(CASE WHEN {} THEN {} ELSE {} END)"), inner, inner, inner),
        st.tuples(st.just("IF({}, {}, {})"), inner, inner, inner),
    ).map(lambda parts: parts[0].format(*parts[1:])),
    max_leaves=5,
)


def test_what_is_told_of_nulls_is_so() -> None:
    told: Counter[Any] = Counter()
    with duckdb.connect() as connection:

        @settings(max_examples=200)
        @given(conditions)
        def check(text: str) -> None:
            nulls = "(SELECT NULL::INT AS x, NULL::INT AS y, NULL::BOOLEAN AS b)"
            items = in_duckdb(f"SELECT {text}")
            ((batch,),) = connection.execute(f"{items} FROM {nulls}").fetchall()
            for tree in (parse_tree(text), normal_form(parse_tree(text), TYPES)):
                value = of_nulls(tree)
                if value is not NullOutcome.UNKNOWN:
                    assert value == batch
                    assert truth_of_nulls(tree) is (batch is True)
                told[value if isinstance(value, NullOutcome | bool | None) else "value"] += 1

        check()
    assert min(told[value] for value in (True, False, None)) > 20
    assert told[NullOutcome.UNKNOWN] < 200


def test_constants_are_compared() -> None:
    assert of_nulls(parse_tree("COALESCE(x, 2.5)")) == Decimal("2.5")
    assert of_nulls(parse_tree("COALESCE(s, 'b') > 'a'")) is True
    assert of_nulls(parse_tree("COALESCE(s, 'b') > 1")) is NullOutcome.UNKNOWN
