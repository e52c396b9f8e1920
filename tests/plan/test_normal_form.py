"""Normal forms: what is proven equal has one, what is not has several, and none loses anything.

Without Spark; `test_normal_form_on_spark.py` asks Spark whether values are kept.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from tests.plan.scalar_texts import TYPES, random_text, type_of, written_otherwise
from tidemill.language.expressions.trees import parse_tree, to_sql
from tidemill.plan.normal_form import normal_form
from tidemill.plan.scalars import normal_text

SEEDS = st.integers(0, 2**32)
EQUAL = [
    ["i + 1", "1 + i", "(i) + (1)", "I + 1", "CAST(i AS INT) + 1", "COALESCE(i) + 1", "+i + 1"],
    ["b", "CAST(b AS BIGINT)", "b :: LONG", "BIGINT(b)", "TRY_CAST(b AS BIGINT)", "coalesce((b))"],
    ["b * c", "c * b"],
    ["d + f", "f + d"],
    ["b + i + c", "c + (i + b)", "(i + b) + c"],
    ["b <> i", "i <> b", "NOT i = b", "NOT NOT b <> i", "b != i"],
    ["d >= 1", "1 <= d", "NOT d < 1", "NOT 1 > d"],
    ["NOT b <=> i", "b IS DISTINCT FROM i"],
    ["i IN (1, 2, 10)", "i IN (10, 2, 1, 2)"],
    ["i = 3", "i IN (3)", "3 = i", "NOT (i) <> 3"],
    ["i = 1 AND ok", "1 = i AND ok", "ok AND (ok AND i = 1)"],
    ["i <= 5 AND i >= 1", "i BETWEEN 1 AND 5", "1 <= i AND 5 >= i"],
    ["COALESCE(x, 'a')", "NVL(x, 'a')", "ifnull(x, 'a')"],
    ["CASE WHEN i > 1 THEN b END", "IF(1 < i, b, NULL)", "CASE WHEN i > 1 THEN b ELSE NULL END"],
    ["CASE WHEN i = 1 THEN b END", "CASE i WHEN 1 THEN b END", "CASE 1 WHEN i THEN b END"],
    ["CAST(i AS DECIMAL(10, 0))", "CAST(i AS DECIMAL)", "DECIMAL(i)", "CAST(i AS DECIMAL(10))"],
    ["LENGTH(x)", "len(x)", "CHAR_LENGTH(x)"],
    ["NOT x LIKE 'a%'", "x NOT LIKE 'a%'"],
    ["i % b", "MOD(i, b)"],
]


@pytest.mark.parametrize("texts", EQUAL, ids=lambda texts: texts[0])
def test_one_meaning_has_one_form(texts):
    forms = {normal_text(text, {**TYPES, "I": TYPES["i"]}).lower() for text in texts}
    assert forms == {texts[0].lower()}


DIFFERENT = [
    ("i + b + d", "i + (b + d)", "the rounding of floats hangs on the grouping"),
    ("i + b + t", "i + (b + t)", "another sum overflows"),
    ("i - b", "b - i", "no operator for it commutes"),
    ("x || y", "y || x", "nor does this one"),
    ("CAST(i AS BIGINT) + 1", "i + 1", "the sum of INT overflows sooner"),
    ("CAST(b AS INT)", "b", "the cast may fail"),
    ("-(2147483648)", "-2147483648", "a BIGINT and an INT"),
    ("CAST(1 AS INT) + c", "1 + c", "Spark takes fewer digits for a constant"),
    ("i / b > 1 AND ok", "ok AND i / b > 1", "the quotient is reached in other rows"),
    ("i / b BETWEEN 0 AND 1", "i / b >= 0 AND i / b <= 1", "it may raise"),
    ("i IN (1, 2)", "i IN (1, 2, NULL)", "the latter is never false"),
    ("COALESCE(i, b)", "COALESCE(b, i)", "the first that is there"),
    ("d = 1", "NOT d < 1 AND NOT d > 1", "more than a comparison"),
    ("1.0 * c", "1.00 * c", "a decimal of other digits"),
    ("LENGTH(x) + 1", "1 + LENGTH(x)", "the type of a function is Spark's to know"),
]


@pytest.mark.parametrize(("one", "other", "_why"), DIFFERENT)
def test_what_is_not_proven_equal_stays_apart(one, other, _why):
    assert normal_text(one, TYPES) != normal_text(other, TYPES)


@settings(max_examples=300)
@given(SEEDS)
def test_a_normal_form_is_its_own_and_keeps_type_and_columns(seed):
    tree = parse_tree(random_text(Random(seed)))
    normal = normal_form(tree, TYPES)
    again = to_sql(normal)
    assert again != to_sql(tree) or normal == tree
    assert parse_tree(again) == normal
    assert normal_text(again, TYPES) == again
    assert type_of(normal) == type_of(tree) or type_of(tree) is None
    assert _columns(normal) == _columns(tree)


def _columns(tree):
    return {column.name for column in tree.find_all(exp.Column)}


def test_other_words_for_an_expression_have_its_form():
    seen: Counter[str] = Counter()

    @settings(max_examples=300)
    @given(SEEDS)
    def check(seed):
        rng = Random(seed)
        one = random_text(rng)
        other = written_otherwise(rng, one)
        assert normal_text(one, TYPES) == normal_text(other, TYPES)
        seen["reworded"] += to_sql(parse_tree(one)) != other

    check()
    assert seen["reworded"] > 200


def test_what_names_mean_elsewhere_is_left_alone():
    for text in ("TRANSFORM(xs, b -> CAST(b AS BIGINT))", "r.b[(i)]"):
        assert normal_text(text, TYPES) == to_sql(parse_tree(text))
