"""The join key: what is equal in all windows of a query, put together from equalities.

Equal expressions form classes. A class that reaches every side is a component of the key, and
there may be no other: `a.k = b.k AND b.m = c.m` would have to go from key to key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from tidemill.errors import Place, refuse
from tidemill.plan.bind.join_conditions import compared_type
from tidemill.plan.expressions import Scalar
from tidemill.plan.type_rules import common_type_of
from tidemill.types import Type

# Their values stay apart as floating-point numbers.
_EXACT_IN_FLOATS = ("TINYINT", "SMALLINT", "INT")
_ONE_KEY = "compare one expression of each window with one of another, and the same for all"


@dataclass(frozen=True)
class Operand:
    """One half of an equality: an expression about one side."""

    side: int
    scalar: Scalar

    @property
    def name(self) -> tuple[int, str]:
        return self.side, self.scalar.sql


@dataclass(frozen=True)
class Equality:
    """Expressions of two sides that are equal.

    `among` are the sides of a COALESCE that the left one is an argument of: one of these has
    rows, and so it is equal.
    """

    left: Operand
    right: Operand
    place: Place | None
    among: frozenset[int] = frozenset()

    @property
    def operands(self) -> tuple[Operand, Operand]:
        return self.left, self.right

    @property
    def sides(self) -> frozenset[int]:
        return frozenset((self.left.side, self.right.side))

    @property
    def present(self) -> tuple[frozenset[int], frozenset[int]]:
        """Sides of which one gives rows, for the left and for the right."""
        left = self.among or frozenset((self.left.side,))
        return left, frozenset((self.right.side,))

    @property
    def sql(self) -> str:
        return f"{self.left.scalar.sql} = {self.right.scalar.sql}"


@dataclass(frozen=True)
class Component:
    """One expression of each side, all equal under one key, in the order of the sides.

    `names` are those of all that is said to be equal.
    """

    operands: tuple[Operand, ...]
    type: Type
    names: frozenset[tuple[int, str]]


@dataclass(frozen=True)
class JoinKey:
    """The components in the order in which the query names them."""

    components: tuple[Component, ...] = ()

    @property
    def types(self) -> tuple[Type, ...]:
        return tuple(component.type for component in self.components)

    def of(self, side: int) -> tuple[Scalar, ...]:
        """The expressions of a side."""
        return tuple(component.operands[side].scalar for component in self.components)

    def place(self, operand: Operand) -> int:
        """The component to which an expression of an equality belongs."""
        return next(n for n, c in enumerate(self.components) if operand.name in c.names)

    def has(self, operand: Operand) -> bool:
        """True if the expression is itself a part of the key, and not just equal to one."""
        return any(operand in component.operands for component in self.components)


class Classes:
    """Classes of equal expressions, in the order in which they are first named."""

    def __init__(self, equalities: Sequence[Equality]) -> None:
        self._above: dict[tuple[int, str], tuple[int, str]] = {}
        self._operands: dict[tuple[int, str], Operand] = {}
        for equality in equalities:
            left, right = (self._entered(operand) for operand in equality.operands)
            if left != right:
                first, second = sorted((left, right), key=list(self._operands).index)
                self._above[second] = first

    def root(self, operand: Operand) -> tuple[int, str]:
        """The first of those that are equal to an expression."""
        name = operand.name
        while (above := self._above[name]) != name:
            name = above
        return name

    def __iter__(self) -> Iterator[list[Operand]]:
        groups: dict[tuple[int, str], list[Operand]] = {}
        for operand in self._operands.values():
            groups.setdefault(self.root(operand), []).append(operand)
        return iter(groups.values())

    def _entered(self, operand: Operand) -> tuple[int, str]:
        self._above.setdefault(operand.name, operand.name)
        self._operands.setdefault(operand.name, operand)
        return self.root(operand)


def common_key(equalities: Sequence[Equality], names: Sequence[str]) -> JoinKey:
    """The key that equalities give to sides of these names, or why there is none."""
    classes = Classes(equalities)
    components = []
    for operands in classes:
        by_side: dict[int, Operand] = {}
        for operand in operands:
            by_side.setdefault(operand.side, operand)
        members = [e for e in equalities if classes.root(e.left) == classes.root(operands[0])]
        if missing := [name for side, name in enumerate(names) if side not in by_side]:
            _refuse_partial(members[0], missing)
        firsts = tuple(by_side[side] for side in range(len(names)))
        equals = frozenset(operand.name for operand in operands)
        components.append(Component(firsts, _type(members), equals))
    return JoinKey(tuple(components))


def _refuse_partial(equality: Equality, missing: list[str]) -> NoReturn:
    refuse(
        "E_NOT_BUILT",
        "windows without a common key are not joined yet",
        detail=f"{equality.sql} says nothing of {' and '.join(missing)}",
        hint=_ONE_KEY,
        place=equality.place,
    )


def _type(equalities: Sequence[Equality]) -> Type:
    """What all expressions of a class are widened to, so that equal stays equal."""
    pairs = [
        compared_type(equality.left.scalar, equality.right.scalar, equality.place)
        for equality in equalities
    ]
    types = [operand.scalar.type for equality in equalities for operand in equality.operands]
    widest = common_type_of(types)
    for equality, pair in zip(equalities, pairs, strict=True):
        if widest is None or not _stays_apart(pair, widest):
            refuse(
                "E_TYPE",
                f"{equality.sql} is compared as {pair}, and the key of all windows as {widest}",
                hint="make the types of all of them equal, for example with TRY_CAST(… AS …)",
                place=equality.place,
            )
    assert widest is not None
    return widest


def _stays_apart(pair: Type, widest: Type) -> bool:
    """True if different values of one type are different ones of the wider type."""
    return pair.is_float or not widest.is_float or pair.name in _EXACT_IN_FLOATS
