"""Canonical forms against DuckDB, over a table that tells apart all that the conditions can."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plan.predicates.grid import ATOMS, RESIDUALS, conditions, members, passing, read
from tidemill.plan.expressions import Scalar
from tidemill.plan.predicates import FALSE, TRUE, canonical
from tidemill.types import BOOLEAN, INT, parse_type


@settings(max_examples=200)
@given(conditions(st.one_of(ATOMS, ATOMS, RESIDUALS)))
def test_the_boxes_hold_the_rows_that_pass(text):
    predicate = read(text)
    assert members(predicate) == passing(text)
    assert passing(predicate.sql) == passing(text)


def test_claims_about_two_conditions_are_right_and_complete():
    seen: Counter[str] = Counter()

    @settings(max_examples=250)
    @given(conditions(most=4), conditions(most=4))
    def check(one_text, two_text):
        one, two = read(one_text), read(two_text)
        in_one, in_two = passing(one_text), passing(two_text)
        assert (one == two) == (in_one == in_two)
        assert one.contains(two) == (in_two <= in_one)
        assert one.is_disjoint(two) == (not in_one & in_two)
        assert one.is_true == (len(in_one) == len(passing("TRUE")))
        assert one.is_false == (not in_one)
        nontrivial = one != two and in_one and in_two
        seen["contains"] += bool(nontrivial and in_two < in_one)
        seen["disjoint"] += bool(nontrivial and not in_one & in_two)
        seen["equal"] += bool(one_text != two_text and one == two and in_one)

    check()
    assert min(seen[kind] for kind in ("contains", "disjoint", "equal")) >= 5, seen


def test_claims_that_involve_opaque_conditions_are_right():
    seen: Counter[str] = Counter()
    mixed = conditions(
        st.one_of(RESIDUALS, st.sampled_from(["port > 80", "ok", "cost < 2"])), most=3
    )
    forms = st.sampled_from(["({0}) AND ({1})", "NOT ({0}) AND ({1})", "{1}"])

    @settings(max_examples=200)
    @given(mixed, mixed, forms)
    def check(one_text, other_text, form):
        two_text = form.format(one_text, other_text)
        one, two = read(one_text), read(two_text)
        in_one, in_two = passing(one_text), passing(two_text)
        opaque = bool(one.residuals or two.residuals)
        if one.contains(two):
            assert in_two <= in_one
            seen["contains"] += opaque and bool(in_two)
        if one.is_disjoint(two):
            assert not in_one & in_two
            seen["disjoint"] += opaque and bool(in_one and in_two)

    check()
    assert min(seen["contains"], seen["disjoint"]) >= 5, seen


SAME = [
    ["port IN (80, 443)", "port = 443 OR port = 80", "80 = port OR port IN (443, 443)"],
    ["port > 5", "port >= 6", "NOT port <= 5", "5 < port", "port > 5.5"],
    ["NOT (port = 1)", "port <> 1", "port < 1 OR port > 1", "port NOT IN (1)"],
    ["port IS NOT NULL", "port = 1 OR port <> 1", "port < 3000000000"],
    ["port = 1 AND proto = 'a' OR port = 2 AND proto = 'a'", "proto = 'a' AND port IN (1, 2)"],
    ["ok", "ok = TRUE", "ok IS TRUE", "NOT ok = FALSE", "ok <=> TRUE", "ok > FALSE"],
    ["cost BETWEEN 1 AND 1.55", "cost >= 1.0 AND cost < 1.6"],
    ["proto LIKE 'a%' OR NOT proto LIKE 'a%'", "NOT (proto LIKE 'a%') OR proto LIKE 'a%'"],
    ["FALSE", "NULL", "port = NULL", "port = 1 AND port = 2", "port = 80.5", "ok AND NOT ok"],
    ["TRUE", "port IS NULL OR port IS NOT NULL", "port <=> 1 OR NOT port <=> 1"],
    ["port > -5", "port >= -4"],
]


@pytest.mark.parametrize("texts", SAME, ids=lambda texts: texts[0])
def test_one_meaning_has_one_form(texts):
    assert len({read(text) for text in texts}) == 1


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("port = 443 OR port = 80", "port IN (80, 443)"),
        ("NOT port BETWEEN 1 AND 1024", "port <= 0 OR port >= 1025"),
        ("port > 5 AND port < 9 AND ok", "ok AND port BETWEEN 6 AND 8"),
        ("proto > 'a' AND proto <= 'b'", "proto > 'a' AND proto <= 'b'"),
        ("port IS NULL OR port <> 80", "port <> 80 OR port IS NULL"),
        ("cost > 1.5", "cost >= 1.6"),
        ("NOT (port = 1 AND proto LIKE 'a%')", "port <> 1 OR NOT (proto LIKE 'a%')"),
        ("ok AND (port = 1 OR port IS NULL)", "ok AND (port = 1 OR port IS NULL)"),
    ],
)
def test_wording(text, sql):
    assert read(text).sql == sql


def test_days_and_moments():
    types = {"day": parse_type("date"), "at": parse_type("timestamp")}
    assert read("day > DATE '9999-12-31'", types).sql == "day > DATE '9999-12-31'"
    assert read("day < DATE '0001-01-01'", types).sql == "day < DATE '0001-01-01'"
    text = "day > DATE '2026-01-31' AND at <= TIMESTAMP '1969-12-31 23:59:59.5'"
    predicate = read(text, types)
    assert not predicate.residuals
    assert predicate.columns == ("at", "day")
    assert predicate.sql == (
        "at <= TIMESTAMP '1969-12-31 23:59:59.500000' AND day >= DATE '2026-02-01'"
    )


def test_what_may_raise_stays_whole():
    types = {"port": INT}
    where = Scalar("port = 1 AND 10 / port > 1", "…", BOOLEAN, ("port",), raised_sql="…")
    predicate = canonical(where, types)
    assert predicate.residuals == (where,)
    assert len(predicate.boxes) == 1


@pytest.mark.parametrize("text", ["x = 1", "x IN (1, 2)", "x IS NULL", "port = 1e0", "port = x"])
def test_floats_stay_opaque(text):
    types = {"x": parse_type("double"), "port": INT}
    assert [each.sql for each in read(text, types).residuals] == [text]


def test_a_form_that_would_be_too_large_stays_opaque_where_it_stands():
    names = [f"c{number:02}" for number in range(20)]
    many = " OR ".join(f"{name} = 1" for name in names)
    predicate = read(f"port = 1 AND ({many})", {"port": INT, **dict.fromkeys(names, INT)})
    assert predicate.sql == f"port = 1 AND ({many})"
    assert [each.sql for each in predicate.residuals] == [many]


def test_no_clause_passes_all():
    assert canonical(None, {}) == TRUE
    assert (TRUE.sql, FALSE.sql) == ("TRUE", "FALSE")
