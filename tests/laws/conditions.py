"""Random conditions, each as SQL and as a plain Python function with SQL's three truth values.

Constants are few, so that conditions of different queries are often equal, contained in each
other, or covered by others together.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

Truth = Callable[[Mapping[str, Any]], bool | None]
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CONSTANTS: dict[str, tuple[Any, ...]] = {
    "k": ("", "a", "b"),
    "n": (0, 1, -7),
    "big": (3, -4, 2**32),
    "price": (Decimal("1.25"), Decimal("0.00")),
}


@dataclass(frozen=True, eq=False)
class Condition:
    sql: str
    truth: Truth

    def __invert__(self) -> Condition:
        return Condition(f"NOT ({self.sql})", lambda row: _not(self.truth(row)))

    def __and__(self, other: Condition) -> Condition:
        return Condition(
            f"({self.sql}) AND ({other.sql})",
            lambda row: _and(self.truth(row), other.truth(row)),
        )

    def __or__(self, other: Condition) -> Condition:
        return Condition(
            f"({self.sql}) OR ({other.sql})",
            lambda row: _not(_and(_not(self.truth(row)), _not(other.truth(row)))),
        )


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _and(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def compared(column: str, sign: str, constant: Any) -> Condition:
    def truth(row: Mapping[str, Any]) -> bool | None:
        value = row[column]
        return None if value is None else _COMPARISONS[sign](value, constant)

    return Condition(f"{column} {sign} {_literal(constant)}", truth)


def among(column: str, constants: Sequence[Any]) -> Condition:
    def truth(row: Mapping[str, Any]) -> bool | None:
        value = row[column]
        return None if value is None else value in constants

    return Condition(f"{column} IN ({', '.join(map(_literal, constants))})", truth)


def is_null(column: str) -> Condition:
    return Condition(f"{column} IS NULL", lambda row: row[column] is None)


def crossing() -> Condition:
    """Two columns at once, which no canonical form looks into."""

    def truth(row: Mapping[str, Any]) -> bool | None:
        return None if row["n"] is None or row["big"] is None else row["n"] < row["big"]

    return Condition("n < big", truth)


def _literal(constant: Any) -> str:
    return f"'{constant}'" if isinstance(constant, str) else str(constant)


def _atom(rng: random.Random) -> Condition:
    column = rng.choice(sorted(_CONSTANTS))
    constants = _CONSTANTS[column]
    kind = rng.choice(("compare", "compare", "compare", "among", "null", "crossing"))
    if kind == "compare":
        return compared(column, rng.choice(sorted(_COMPARISONS)), rng.choice(constants))
    if kind == "among":
        return among(column, rng.sample(constants, rng.randrange(1, 3)))
    return is_null(column) if kind == "null" else crossing()


def random_pool(rng: random.Random, size: int) -> list[Condition]:
    """Some conditions, of which later ones are often made from earlier ones."""
    pool = [_atom(rng)]
    while len(pool) < size:
        one, two = rng.choice(pool), rng.choice(pool)
        pool.append(rng.choice((_atom(rng), _atom(rng), ~one, one & two, one | two, one | two)))
    return pool
