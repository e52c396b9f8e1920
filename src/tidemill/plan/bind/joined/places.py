"""Where the groups and the aggregates of a query over several windows stand among its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from sqlglot import exp

from tidemill.errors import Place
from tidemill.language.expressions.trees import parse_tree, to_sql
from tidemill.language.not_built import refuse_unbuilt
from tidemill.plan.bind.joined.meeting import Meeting
from tidemill.plan.bind.joined.nulls import of_nulls
from tidemill.plan.bind.joined.sides import FromItem, sides_of
from tidemill.plan.expressions import Scalar
from tidemill.plan.functions import IGNORE_NULLS, Signatures
from tidemill.plan.query import AggregateCall, Key
from tidemill.plan.window_join import SidePlace

_GROUP_HINT = "group by expressions of one window each"
_ARGUMENT_HINT = "an argument is about one window; combine several aggregates: SUM(a.x) + SUM(b.y)"
_NULLS_HINT = "aggregate or group by the plain column, and deal with NULLs in the select list"
_COUNTED_HINT = "COUNT(*) counts rows of the join"
_SEES_HINT = "say IGNORE NULLS behind the call"
_SCALED_HINT = "PERCENTILE, MEDIAN and TOP are exact and work over joins"


PlaceOfCall = Callable[[AggregateCall], Place | None]
"""An aggregate ⇒ where the text of the query has it."""


@dataclass
class PartPlaces:
    """Enters keys and calls into the sides that they are about, and says where they stand."""

    meeting: Meeting
    items: Sequence[FromItem]
    signatures: Signatures
    giving: Sequence[int]  # the sides that give rows in some term
    place_of: PlaceOfCall
    keys: list[list[str]] = field(default_factory=list)  # of each side, join key and flags first
    calls: list[list[AggregateCall]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for side, flags in enumerate(self.meeting.rows.flags):
            join_key = [scalar.sql for scalar in self.meeting.key.of(side)]
            self.keys.append([*join_key, *map(flag_text, flags)])
            self.calls.append([])

    def group(self, key: Key, place: Place | None) -> tuple[SidePlace, ...]:
        """The places of a key of the query."""
        tree = parse_tree(key.scalar.sql)
        sides = sides_of(tree, self.items)
        if len(sides) > 1:
            return self._common(tree, place)
        if not sides:
            return tuple(self._key(side, key.scalar.sql) for side in self.giving)
        (side,) = sides
        self._check_nulls(side, key.scalar, place)
        return (self._key(side, key.scalar.sql),)

    def call(self, call: AggregateCall) -> SidePlace | None:
        """The place of an aggregate; None for one that counts rows of the join."""
        if not call.arguments:
            return None
        if not self.signatures.by_name[call.function].scales:
            self._refuse(call, "over a join", _SCALED_HINT)
        trees = [parse_tree(scalar.sql) for scalar in call.arguments]
        sides = {side for tree in trees for side in sides_of(tree, self.items)}
        if len(sides) > 1:
            self._refuse(call, "of several windows", _ARGUMENT_HINT)
        side = next(iter(sides)) if sides else self._always(call)
        if side in self.meeting.nullable:
            self._check_lonely(call)
        if call not in self.calls[side]:
            self.calls[side].append(call)
        return SidePlace(side, self.calls[side].index(call))

    def _key(self, side: int, text: str) -> SidePlace:
        if text not in self.keys[side]:
            self.keys[side].append(text)
        return SidePlace(side, self.keys[side].index(text))

    def _common(self, tree: exp.Expr, place: Place | None) -> tuple[SidePlace, ...]:
        """COALESCE of the join key of several sides, as USING of a full join has it."""
        if isinstance(tree, exp.Anonymous) and tree.name.upper() == "COALESCE":
            places = tuple(self._keys_of(tree.expressions))
            if len(places) == len(tree.expressions) and len({p.place for p in places}) == 1:
                return places
        refuse_unbuilt("GROUP BY of an expression of several windows", _GROUP_HINT, place)

    def _keys_of(self, trees: Sequence[exp.Expr]) -> Iterator[SidePlace]:
        for tree in trees:
            for side in sides_of(tree, self.items):
                join_key = [scalar.sql for scalar in self.meeting.key.of(side)]
                if (text := to_sql(tree)) in join_key:
                    yield SidePlace(side, join_key.index(text))

    def _always(self, call: AggregateCall) -> int:
        """A side that gives rows in every term, for an argument that is about none."""
        for side in self.giving:
            if side not in self.meeting.nullable:
                return side
        self._refuse(call, "of a constant over such a join", _COUNTED_HINT)

    def _check_nulls(self, side: int, scalar: Scalar, place: Place | None) -> None:
        """What is grouped by of a side without rows is NULL."""
        if side in self.meeting.nullable and not is_null_of_nulls(scalar):
            refuse_unbuilt(f"{scalar.sql} where the window has no partner", _NULLS_HINT, place)

    def _check_lonely(self, call: AggregateCall) -> None:
        """An aggregate sees nothing of a side without rows."""
        for scalar in call.arguments:
            if not is_null_of_nulls(scalar):
                self._refuse(call, f"of {scalar.sql} where the window has no partner", _NULLS_HINT)
        if _sees_nulls(call, self.signatures):
            self._refuse(call, "of a window that may have no partner", _SEES_HINT)

    def _refuse(self, call: AggregateCall, what: str, hint: str) -> NoReturn:
        refuse_unbuilt(f"{call.function} {what}", hint, self.place_of(call))


def flag_text(condition: str) -> str:
    """A flag, as the key of a part: whether a condition holds."""
    return f"({condition}) <=> TRUE"


def _sees_nulls(call: AggregateCall, signatures: Signatures) -> bool:
    """True if rows whose argument is NULL may change the result."""
    names = [parameter.name for parameter in signatures.by_name[call.function].parameters]
    return IGNORE_NULLS in names and not call.parameters[names.index(IGNORE_NULLS)]


def is_null_of_nulls(scalar: Scalar) -> bool:
    """True if an expression is NULL where all columns are."""
    return of_nulls(parse_tree(scalar.sql)) is None
