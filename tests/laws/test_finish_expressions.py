"""Finishing expressions: arrays against the row-by-row twin, and against Spark.

The twin shares the typed tree, so it catches slips of vectorisation and not of typing or of
Spark's rules; Spark catches those, but not a wrong `raised`, which its try_ forms do not tell.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tidemill.evaluation.finish import evaluate
from tidemill.language.expressions.trees import parse_tree
from tidemill.plan.bind.clauses import type_expression
from tidemill.plan.expressions import Node, is_vectorised
from tidemill.plan.try_forms import to_spark_sql
from tidemill.reference.expressions import evaluate_row
from tidemill.types import STRING, Type, parse_type

COLUMNS = {
    name: parse_type(text)
    for name, text in {
        "t": "TINYINT",
        "s": "SMALLINT",
        "i": "INT",
        "b": "BIGINT",
        "b2": "BIGINT",
        "f": "FLOAT",
        "d": "DOUBLE",
        "d2": "DOUBLE",
        "c": "DECIMAL(10,2)",
        "w": "DECIMAL(38,10)",
        "x": "STRING",
        "y": "STRING",
        "k": "BOOLEAN",
        "day": "DATE",
        "at": "TIMESTAMP",
    }.items()
}
NUMBERS = ("t", "s", "i", "b", "b2", "f", "d", "d2", "c", "w")
INTEGERS = ("t", "s", "i", "b", "b2")
NUMBER_LITERALS = ("0", "1", "-1", "7", "100", "2147483647", "1.5", "0.05", "-2.50", "1e0", "1e300")
TARGETS = (
    *("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE"),
    *("DECIMAL(5,1)", "DECIMAL(18,4)", "DECIMAL(38,20)"),
)
DOUBLES = (0.0, -0.0, 1.0, -1.5, 2.5, 1.005, 0.1, math.nan, math.inf, -math.inf, 1e300, 2.0**63)
MORE_DOUBLES = (-(2.0**63), 1e-300, 123456789.125, 0.285, 5e-324, 2.0**53 + 2, -0.4, 1e15 + 0.3)


def _integers(bits: int) -> tuple[int, ...]:
    bound = 1 << bits - 1
    return (0, 1, -1, 2, 7, -10, bound - 1, -bound, bound // 2)


def _decimals(*texts: str) -> tuple[Decimal, ...]:
    return tuple(map(Decimal, texts))


VALUES: dict[str, Sequence[Any]] = {
    "t": _integers(8),
    "s": _integers(16),
    "i": _integers(32),
    "b": (*_integers(64), 3037000500, 10**15),
    "b2": (*_integers(64), -3037000500, 999_999_999_999),
    "f": (
        0.0,
        -0.0,
        1.5,
        0.10000000149011612,
        math.nan,
        math.inf,
        3.4028234663852886e38,
        16777216.0,
    ),
    "d": DOUBLES,
    "d2": DOUBLES + MORE_DOUBLES,
    "c": _decimals("0.00", "0.01", "-0.05", "12.34", "99999999.99", "-99999999.99", "3.00"),
    "w": _decimals("0.0000000000", "9999999999999999999999999999.9999999999", "-0.0000000001")
    + _decimals("1.5000000000", "-3333333333333333333333333333.3333333333", "7.0000000000"),
    "x": ("", "a", "B", "é", "\U0001f600", "\uffff", "ab"),
    "y": ("", "a", "b", "é", "\uffff"),
    "k": (True, False),
    "day": (date(1969, 12, 31), date(2020, 1, 1), date(2020, 1, 2)),
    "at": (datetime(1969, 12, 31, tzinfo=UTC), datetime(2020, 1, 1, 0, 0, 1, 5, UTC)),
}


class Maker:
    """Random SQL text; `choose` picks one of several, so Hypothesis or a seed can drive it."""

    def __init__(self, choose: Callable[[Sequence[Any]], Any], round_digits: Sequence[int]) -> None:
        self.choose = choose
        self.round_digits = round_digits

    def any(self, depth: int) -> str:
        return str(self.choose((self.number, self.number, self.truth, self.text))(depth))

    def number(self, depth: int) -> str:
        if depth == 0:
            return str(self.choose((*NUMBERS, *NUMBERS, *NUMBER_LITERALS)))
        makers: list[Callable[[int], str]] = [self.unary, self.rounded, self.converted, self.whole]
        makers += [self.arithmetic] * 4 + [self.conditional] * 2
        return str(self.choose(makers)(depth - 1))

    def arithmetic(self, depth: int) -> str:
        operator = self.choose("+-*/%")
        return f"({self.number(depth)} {operator} {self.number(self.choose((0, depth)))})"

    def unary(self, depth: int) -> str:
        return f"{self.choose(('-', 'ABS'))}({self.number(depth)})"

    def rounded(self, depth: int) -> str:
        return f"ROUND({self.number(depth)}, {self.choose(self.round_digits)})"

    def converted(self, depth: int) -> str:
        cast = self.choose(("CAST", "TRY_CAST"))
        return f"{cast}({self.number(depth)} AS {self.choose(TARGETS)})"

    def whole(self, _depth: int) -> str:
        return f"({self.choose(INTEGERS)} DIV {self.choose(INTEGERS)})"

    def conditional(self, depth: int) -> str:
        return self.branches(self.number, depth)

    def branches(self, value: Callable[[int], str], depth: int) -> str:
        one, other = value(depth), value(depth)
        condition = self.truth(depth)
        forms = (
            f"CASE WHEN {condition} THEN {one} ELSE {other} END",
            f"CASE WHEN {condition} THEN {one} WHEN k THEN {other} END",
            f"CASE {one} WHEN {other} THEN {one} ELSE {other} END",
            f"COALESCE({one}, {other})",
            f"NVL({one}, {other})",
            f"NULLIF({one}, {other})",
            f"IF({condition}, {one}, NULL)",
        )
        return str(self.choose(forms))

    def truth(self, depth: int) -> str:
        if depth == 0:
            return str(
                self.choose(("k", "TRUE", "FALSE", "day < DATE '2020-01-02'", "at <=> NULL"))
            )
        makers = (self.compared, self.compared, self.joined, self.tested, self.listed)
        return str(self.choose(makers)(depth - 1))

    def compared(self, depth: int) -> str:
        value = self.choose((self.number, self.number, self.text))
        operator = self.choose(("=", "<>", "<", "<=", ">", ">=", "<=>"))
        return f"({value(depth)} {operator} {value(depth)})"

    def joined(self, depth: int) -> str:
        left, right = self.truth(depth), self.truth(depth)
        return str(self.choose((f"({left} AND {right})", f"({left} OR {right})", f"NOT ({left})")))

    def tested(self, depth: int) -> str:
        value = self.any(depth)
        return f"({value}) IS {self.choose(('NULL', 'NOT NULL'))}"

    def listed(self, depth: int) -> str:
        value, low, high = self.number(depth), self.number(0), self.number(0)
        members = ", ".join(self.choose(NUMBER_LITERALS) for _ in range(2))
        extra = self.choose(("", ", NULL"))
        forms = (f"({value} IN ({members}{extra}))", f"({value} BETWEEN {low} AND {high})")
        return str(self.choose((*forms, "(x IN ('a', 'é'))", f"(x NOT IN ('a'{extra}))")))

    def text(self, depth: int) -> str:
        if depth == 0:
            return str(self.choose(("x", "y", "'a'", "'é'")))
        whole = f"CAST({self.choose((*INTEGERS, 'k'))} AS STRING)"
        return str(self.choose((whole, self.branches(self.text, depth - 1))))


def _no_oracle(_sql: str, _columns: Any) -> Type:
    return STRING


def _typed(sql: str) -> Node:
    return type_expression(parse_tree(sql), COLUMNS, _no_oracle)


def _exact(value: object) -> object:
    """A value that is equal only to itself: NaN to NaN, and zero only to zero of its sign."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else (value, math.copysign(1.0, value))
    return value


def _arrays(rows: Sequence[dict[str, Any]]) -> dict[str, pa.Array]:
    return {
        name: pa.array([row[name] for row in rows], type.arrow) for name, type in COLUMNS.items()
    }


@st.composite
def typed_expressions(draw: st.DrawFn) -> Node:
    def choose(options: Sequence[Any]) -> Any:
        return draw(st.sampled_from(options))

    node = _typed(Maker(choose, (0, 1, 2, 7, 25, -1, -3)).any(3))
    assume(is_vectorised(node))
    return node


ROWS = st.fixed_dictionaries(
    {name: st.none() | st.sampled_from(values) for name, values in VALUES.items()}
    | {
        "d": st.none() | st.floats() | st.sampled_from(DOUBLES),
        "b": st.none() | st.sampled_from(VALUES["b"]) | st.integers(-(2**63), 2**63 - 1),
        "c": st.none() | st.decimals(-99_999_999, 99_999_999, places=2),
    }
)


@settings(max_examples=400)
@given(typed_expressions(), st.lists(ROWS, max_size=6))
def test_arrays_agree_with_the_row_by_row_twin(node, rows):
    done = evaluate(node, _arrays(rows), len(rows))
    expected = [evaluate_row(node, row) for row in rows]
    assert done.values.type == node.type.arrow
    assert [_exact(value) for value in done.values.to_pylist()] == [
        _exact(value) for value, _ in expected
    ]
    assert done.raised.tolist() == [raised for _, raised in expected]


def _random_rows(dice: random.Random, count: int) -> list[dict[str, Any]]:
    return [
        {name: dice.choice((*values, None)) for name, values in VALUES.items()}
        for _ in range(count)
    ]


def _vectorised_texts(dice: random.Random, count: int) -> list[str]:
    # ROUND left of the point has no try_ form: at the edge of its range Spark would stop the test.
    maker = Maker(dice.choice, (0, 1, 2, 7, 25))
    texts: dict[str, None] = {}
    while len(texts) < count:
        text = maker.any(dice.choice((1, 1, 2, 3)))
        if is_vectorised(_typed(text)):
            texts[text] = None
    return list(texts)


def test_types_and_values_are_those_of_spark(spark):
    dice = random.Random(20)
    rows, texts = _random_rows(dice, 60), _vectorised_texts(dice, 400)
    arrays = _arrays(rows)
    frame = spark.createDataFrame(pa.table(arrays)).coalesce(1)
    for start in range(0, len(texts), 100):
        batch = texts[start : start + 100]
        forms = [to_spark_sql(parse_tree(text), COLUMNS) for text in batch]
        answer = frame.selectExpr(*(f"{form} AS r{at}" for at, form in enumerate(forms)))
        table = answer.toArrow()
        for at, text in enumerate(batch):
            node = _typed(text)
            assert parse_type(answer.schema[at].dataType.simpleString()) == node.type, text
            ours = evaluate(node, arrays, len(rows)).values.to_pylist()
            wrong = [
                (mine, theirs, row)
                for mine, theirs, row in zip(ours, table[f"r{at}"].to_pylist(), rows, strict=True)
                if _exact(mine) != _exact(theirs)
            ]
            assert not wrong, (text, node, wrong[0])
