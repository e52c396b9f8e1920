"""Lanes: the partial vector behind the aggregates.

A lane is one associative partial over one argument: rows, count, sum, min, max, moments, first,
last, counts of values or their weights, a sketch, or the state of an aggregate that a user has
written. It is lifted by Catalyst, combined by the kernels and read by the aggregates that need
it, so SUM, COUNT and AVG of one expression keep two lanes between them, not four, and all that
counts of values can tell is told by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidemill.aggregates import sketches
from tidemill.aggregates.algebra import (
    COUNT,
    FLOAT_MAX,
    FLOAT_MIN,
    FLOAT_SUM,
    INTEGER_MAX,
    INTEGER_MIN,
    INTEGER_SUM,
    Algebra,
)
from tidemill.aggregates.moments import MOMENTS
from tidemill.aggregates.sketches.lifting import is_by_value, lift_sql
from tidemill.aggregates.sketches.sizes import sketch_behind
from tidemill.aggregates.user import running
from tidemill.catalog import Code
from tidemill.plan.expressions import Value
from tidemill.plan.functions.basic import MAX_DIGITS, SUM_DIGITS
from tidemill.plan.query import AggregateCall
from tidemill.plan.scalar import Scalar
from tidemill.types import BIGINT, DOUBLE, Type

_NEEDS = {
    "COUNT": ("count",),
    "SUM": ("sum",),
    "AVG": ("sum", "count"),
    "MIN": ("min",),
    "MAX": ("max",),
    "VARIANCE": ("moments",),
    "VAR_POP": ("moments",),
    "STDDEV": ("moments",),
    "STDDEV_POP": ("moments",),
    "FIRST": ("first",),
    "LAST": ("last",),
    "COUNT_DISTINCT": ("counts",),
    "MEDIAN": ("counts",),
    "PERCENTILE": ("counts",),
    "TOP": ("counts",),
    "COLLECT": ("counts",),
    "FREQUENT": ("counts",),
}
# (value, event time) ⇒ the Catalyst aggregates of a lane, one per part, where it has several.
_PAIR = "IF({value} IS NULL, NULL, STRUCT({time} AS t, {value} AS v))"
_LIFTS = {
    "moments": ("COUNT({value})", "AVG(DOUBLE({value}))", "VAR_POP({value}) * COUNT({value})"),
    "first": (f"MIN({_PAIR}).t", f"MIN({_PAIR}).v"),
    "last": (f"MAX({_PAIR}).t", f"MAX({_PAIR}).v"),
    "counts": ("ANY_VALUE({value})", "COUNT({value})"),
}
# Kinds that keep the distinct values of the argument: with how often each is there, or with
# the sum of another argument. Partial rows have one value each.
BAGS = ("counts", "weights")
# Kinds that are made from values, each with how often it is there.
BY_VALUE: tuple[str, ...] = (*BAGS, "user")
_PARTS = {
    "moments": ("n", "mean", "m2"),
    "first": ("t", "v"),
    "last": ("t", "v"),
    "counts": ("value", "count"),
}


@dataclass(frozen=True)
class Lane:
    """`others` are further arguments, `parameters` how it is made, as the size of a sketch.

    `code` is there for the lane of an aggregate that a user has written.
    """

    kind: str
    argument: Scalar | None = None
    others: tuple[Scalar, ...] = ()
    parameters: tuple[Value, ...] = ()
    code: Code | None = None

    @property
    def arguments(self) -> tuple[Scalar, ...]:
        return (*([self.argument] if self.argument else []), *self.others)

    @property
    def sql(self) -> str:
        words = [*(scalar.sql for scalar in self.arguments), *map(str, self.parameters)]
        return f"{self.code.name if self.code else self.kind}({', '.join(words) or '*'})"

    @property
    def by_value(self) -> tuple[Scalar, ...]:
        """What Catalyst has to group by, too, so that a partial row has one value of each."""
        if self.kind == "weights":
            return self.arguments[:1]
        by_value = self.kind in BY_VALUE or (self.is_sketch and is_by_value(self.kind, self.type))
        return self.arguments if by_value else ()

    @property
    def is_sketch(self) -> bool:
        return self.kind in sketches.KINDS

    @property
    def size(self) -> int:
        """Of a sketch; what it means, its family knows."""
        (size,) = self.parameters
        assert isinstance(size, int)
        return size

    @property
    def summed(self) -> Lane:
        """The sum that is the weight of each value."""
        return Lane("sum", self.others[0])

    @property
    def type(self) -> Type:
        return self.argument.type if self.argument else BIGINT

    @property
    def algebra(self) -> Algebra:
        """Of lanes whose windows are combined by a kernel; sketches and bags are not."""
        if self.code is not None:
            return running(self.code, self.parameters).algebra
        if self.kind in ("rows", "count", "overflow"):
            return COUNT
        if self.kind == "sum":
            return FLOAT_SUM if self.type.is_float else INTEGER_SUM
        if self.kind == "moments":
            return MOMENTS
        # The first and the last are kept as ranks of (time, value).
        if self.kind in ("first", "last"):
            return INTEGER_MIN if self.kind == "first" else INTEGER_MAX
        if self.kind == "min":
            return FLOAT_MIN if self.type.is_float else INTEGER_MIN
        return FLOAT_MAX if self.type.is_float else INTEGER_MAX

    @property
    def parts(self) -> tuple[str, ...]:
        """Suffixes of the columns that carry the lane: a BIGINT sum needs two limbs.

        A sketch is one column, but partial rows by value have the value and how often it is; a
        user's aggregate has states in pieces, and in partial rows how often and which values.
        """
        if self.code is not None:
            return ("", "n", *(f"v{place}" for place in range(len(self.arguments))))
        if self.kind in _PARTS:
            return _PARTS[self.kind]
        if self.kind == "weights":
            return ("value", *(f"sum{part}" for part in self.summed.parts))
        if self.is_sketch:
            return ("", "n") if self.by_value else ("",)
        return ("lo", "hi") if self.kind == "sum" and self.type == BIGINT else ("",)

    def lift(self, values: Sequence[str], time: str) -> tuple[str, ...]:
        """The Catalyst aggregates, one per part, over the columns of the arguments and the time.

        Integer sums must be exact, and Spark's BIGINT sum raises when it overflows; the
        two halves of a BIGINT add up without overflow for 2^31 rows of one slice.
        """
        if self.kind == "rows":
            return ("COUNT(*)",)
        if self.code is not None:
            return (
                "CAST(NULL AS BOOLEAN)",
                "COUNT(*)",
                *(f"ANY_VALUE({value})" for value in values),
            )
        value = values[0]
        if self.kind in _LIFTS:
            return tuple(sql.format(value=value, time=time) for sql in _LIFTS[self.kind])
        if self.kind == "weights":
            return (f"ANY_VALUE({value})", *self.summed.lift(values[1:], time))
        if self.is_sketch:
            if self.by_value:
                return (f"MAX({value})", f"COUNT({value})")
            return (lift_sql(self.kind, self.size, self.type, value),)
        if self.kind == "overflow":
            return (f"CAST(TRY_SUM({value}) IS NULL AND COUNT({value}) > 0 AS BIGINT)",)
        if self.parts == ("lo", "hi"):
            return (f"SUM({value} & 4294967295L)", f"SUM(SHIFTRIGHT({value}, 32))")
        if self.kind == "sum" and self.type.is_decimal:
            return (f"TRY_SUM({value})",)
        if self.kind == "sum":
            return (f"SUM(CAST({value} AS {(DOUBLE if self.type.is_float else BIGINT).sql}))",)
        return (f"{self.kind.upper()}({value})",)


ROWS = Lane("rows")


def lanes_behind(call: AggregateCall) -> tuple[Lane, ...]:
    """The lanes that an aggregate is lowered from.

    A decimal sum also keeps its count, and where the sum of a slice may have more digits
    than there are, how often it had: such a slice has rows and yet no sum.
    """
    if call.argument is None:
        return (ROWS,)
    if call.code is not None:
        return (Lane("user", call.argument, call.others, call.parameters, call.code),)
    if call.function == "TOP" and call.others:
        return (Lane("weights", call.argument, call.others),)
    if call.function.startswith("APPROX_"):
        kind, size = sketch_behind(call)
        return (Lane(kind, call.argument, parameters=(size,)),)
    kinds: tuple[str, ...] = _NEEDS[call.function]
    if call.function in ("SUM", "AVG") and call.argument.type.is_decimal:
        kinds = (
            ("sum", "count", "overflow") if may_overflow(call.argument.type) else ("sum", "count")
        )
    return tuple(Lane(kind, call.argument) for kind in kinds)


def may_overflow(argument: Type) -> bool:
    """Whether the sum of a decimal is kept in fewer digits than it might need."""
    return argument.precision > MAX_DIGITS - SUM_DIGITS
