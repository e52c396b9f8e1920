"""The laws of an algebra, tried on sample states: what kernels take for granted.

Slices are combined in any order and grouping, cells without rows count as the identity, and the
running kernel takes out again what it has put in.

>>> from tidemill.aggregates.algebra import COUNT, Algebra
>>> broken_law(COUNT, np.array([3, -1, 2**62]))
>>> minus = Algebra("minus", np.subtract, 0)
>>> print(broken_law(minus, np.array([3, -1])))
identity: nothing ∘ a is not a
  a = -1
  nothing ∘ a = 1
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tidemill.aggregates.algebra import Algebra
from tidemill.arrays import Array, BoolArray

TOLERANCE = 1e-9
_TRIPLES = 128
_SEED = 20


@dataclass(frozen=True)
class Broken:
    """A law that does not hold, and for which states: both sides, as they came out."""

    law: str
    sides: tuple[str, str]
    states: tuple[tuple[str, Any], ...]
    values: tuple[Any, Any]

    def __str__(self) -> str:
        left, right = self.sides
        shown = {**dict(self.states), left: self.values[0], right: self.values[1]}
        lines = [f"  {name} = {plain(value)}" for name, value in shown.items()]
        return "\n".join([f"{self.law}: {left} is not {right}", *lines])


@dataclass(frozen=True)
class _Sides:
    """Two ways to say the same of some states, by name."""

    law: str
    names: tuple[str, str]
    left: Callable[[], Array]
    right: Callable[[], Array]
    states: dict[str, Array]


def broken_law(algebra: Algebra, states: Array) -> Broken | None:
    """The first law that the algebra breaks on triples of the states, or None."""
    rng = np.random.default_rng(_SEED)
    a, b, c = (states[rng.integers(len(states), size=_TRIPLES)] for _ in range(3))
    for sides in _laws(algebra, a, b, c):
        left, right = sides.left(), sides.right()
        wrong = np.flatnonzero(~agree(left, right, tuple(sides.states.values())))
        if len(wrong):
            at = int(wrong[0])
            shown = tuple((name, column[at]) for name, column in sides.states.items())
            return Broken(sides.law, sides.names, shown, (left[at], right[at]))
    return None


def _laws(algebra: Algebra, a: Array, b: Array, c: Array) -> Iterator[_Sides]:
    nothing = algebra.filled(a.shape, a.dtype)

    def combine(left: Array, right: Array) -> Array:
        with np.errstate(all="ignore"):
            result: Array = algebra.combine(left, right)
        return result

    unary, binary, ternary = {"a": a}, {"a": a, "b": b}, {"a": a, "b": b, "c": c}
    # First, since what changes from call to call seems to break any law.
    yield _Sides(
        "determinism",
        ("a ∘ b", "a ∘ b once more"),
        lambda: combine(a, b),
        lambda: combine(a, b),
        binary,
    )
    yield _Sides("identity", ("nothing ∘ a", "a"), lambda: combine(nothing, a), lambda: a, unary)
    yield _Sides("identity", ("a ∘ nothing", "a"), lambda: combine(a, nothing), lambda: a, unary)
    if algebra.commutative:
        names = ("a ∘ b", "b ∘ a")
        yield _Sides("commutativity", names, lambda: combine(a, b), lambda: combine(b, a), binary)
    yield _Sides(
        "associativity",
        ("(a ∘ b) ∘ c", "a ∘ (b ∘ c)"),
        lambda: combine(combine(a, b), c),
        lambda: combine(a, combine(b, c)),
        ternary,
    )
    if algebra.idempotent:
        yield _Sides("idempotence", ("a ∘ a", "a"), lambda: combine(a, a), lambda: a, unary)
    if algebra.subtractable:
        less = algebra.subtract
        yield _Sides(
            "subtract", ("(a ∘ b) − b", "a"), lambda: less(combine(a, b), b), lambda: a, binary
        )


def agree(left: Array, right: Array, behind: tuple[Array, ...] = ()) -> BoolArray:
    """Flags of equal states; floats agree within 1e-9 of the largest behind them.

    Large numbers that cancel leave their roundings, so what went in decides how close is close.
    Of what is not finite, one kind is as good as another: it depends on the order in Spark, too.
    """
    if left.dtype.names is not None:
        fields = [agree(left[n], right[n], tuple(s[n] for s in behind)) for n in left.dtype.names]
        return np.asarray(np.logical_and.reduce(fields))
    same: BoolArray = (left == right) | ((left != left) & (right != right))
    if left.dtype.kind == "f":
        same |= _close(left, right, behind)
    return np.asarray(same.reshape(len(same), -1).all(axis=1))


def _close(left: Array, right: Array, behind: tuple[Array, ...]) -> BoolArray:
    sizes = [np.where(np.isfinite(one), np.abs(one), 0) for one in (left, right, *behind)]
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(left - right) <= TOLERANCE * np.maximum.reduce(sizes)
    return np.asarray(near | (~np.isfinite(left) & ~np.isfinite(right)))


def plain(value: Any) -> str:
    """A state as a user wrote it: fields by name, without what is the engine's own."""
    names = getattr(getattr(value, "dtype", None), "names", None)
    if names is None:
        return str(value)
    shown = (f"{name}={value[name].tolist()}" for name in names if not name.startswith("_"))
    return f"({', '.join(shown)})"
