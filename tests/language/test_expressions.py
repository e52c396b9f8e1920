"""Expressions: canonical text is a fixed point, and its tree is the tree that was read.

These tests know nothing of Spark; that the meaning is kept is for test_spark_keeps_meaning.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlglot import exp

from tidemill.errors import TidemillError
from tidemill.language import parse_expression
from tidemill.language.statements import Expr


def lines_of(name: str) -> list[str]:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("--")]


SCALARS = lines_of("scalars.sql")
AGGREGATES = lines_of("aggregates.sql")


@pytest.mark.parametrize("text", [*SCALARS, *AGGREGATES])
def test_canonical_text_is_a_fixed_point(text):
    once = parse_expression(text)
    twice = parse_expression(once.sql)
    assert twice.sql == once.sql
    assert twice.tree == once.tree


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("Sum( Length )", "SUM(Length)"),
        ("`src`", "src"),
        ("`order`", "`order`"),
        ("`a``b`.`c d`", "`a``b`.`c d`"),
        ("date", "date"),
        ("x /* why */ + 1 -- so", "x + 1"),
        ("a IS NOT NULL", "NOT a IS NULL"),
        ("5::int", "CAST(5 AS INT)"),
        ("dateadd(day, 1, x)", "DATEADD(DAY, 1, x)"),
        ("date_add(day, 1)", "DATE_ADD(day, 1)"),
        ("INTERVAL 1 MINUTE 30 SECONDS", "INTERVAL '1 MINUTE 30 SECOND'"),
    ],
)
def test_canonical_text(text, canonical):
    assert parse_expression(text).sql == canonical


@pytest.mark.parametrize("name", ["ROUND", "abs", "Coalesce", "if", "count", "nullif", "to_date"])
def test_every_function_stays_a_plain_call(name):
    tree = parse_expression(f"{name}(a, b)").tree
    assert type(tree) is exp.Anonymous
    assert tree.name == name.upper()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("CAST(a AS INT)", exp.Cast),
        ("TRY_CAST(a AS INT)", exp.TryCast),
        ("a = b IN (TRUE)", exp.In),
        ("1 | 2 & 3", exp.BitwiseOr),
        ("NOT a = b", exp.Not),
        ("a <=> b", exp.NullSafeEQ),
        ("a BETWEEN 1 AND 2 = b", exp.Between),
        ("array(a)[0]", exp.Bracket),
    ],
)
def test_root_of_the_tree(text, kind):
    assert type(parse_expression(text).tree) is kind


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "E_SYNTAX"),
        ("a b", "E_SYNTAX"),
        ("a IS NULL = TRUE", "E_SYNTAX"),
        ("a -> 'b'", "E_SYNTAX"),
        ("a SIMILAR TO b", "E_SYNTAX"),
        ("[1, 2]", "E_SYNTAX"),
        ("a[1:2]", "E_SYNTAX"),
        ("a[1, 2]", "E_SYNTAX"),
        ("a[]", "E_SYNTAX"),
        ("?", "E_SYNTAX"),
        ("INTERVAL x DAY", "E_SYNTAX"),
        ("a.*", "E_SYNTAX"),
        ("a IN ()", "E_SYNTAX"),
        ("``", "E_SYNTAX"),
        ("CAST(a AS UUID)", "E_UNKNOWN_TYPE"),
        ("(SELECT 1)", "E_NOT_BUILT"),
        ("SUM(a) OVER (PARTITION BY b)", "E_NOT_BUILT"),
    ],
)
def test_refusal(text, code):
    with pytest.raises(TidemillError) as caught:
        parse_expression(text)
    assert caught.value.code == code


def test_a_tree_is_fresh_each_time():
    expr = parse_expression("a + b")
    expr.tree.set("this", exp.column("z"))
    assert expr.tree.sql() == "a + b"


def test_an_expression_made_from_text_alone_has_a_tree_but_no_places():
    expr = Expr("a + b")
    assert expr.tree == parse_expression("a + b").tree
    assert expr.place_of(expr.tree) is None
