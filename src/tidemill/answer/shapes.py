"""Shapes: the finishing of a query with its constants lifted out.

Queries that differ in their windows, in constants, in LIMIT or in the names of their outputs
have one shape and are answered together: the price of a query is then its rows, not its share
of a hundred small calls.

>>> from tidemill.plan.expressions import Call
>>> from tidemill.types import BIGINT, BOOLEAN
>>> total = Slot("total", BIGINT)
>>> lifting = _Lifting({})
>>> print(lifting.node(Call("gt", (total, Literal(5, BIGINT)), BOOLEAN)), lifting.values)
gt(total, ?0) [5]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from tidemill.ids import hash_once
from tidemill.plan.expressions import Call, Literal, Node, Slot, Value, is_vectorised, walk
from tidemill.plan.query import REVISION, AggregateCall, Key, Ordering, QueryPlan

_NO_LIMIT = 2**62
# A plan changes in few of its queries at a time, and the others are lifted already.
_MOST_LIFTED = 1 << 15


@hash_once
@dataclass(frozen=True)
class Shape:
    """The finishing of a query, over slots and parameters.

    A shape that does not finish here has the slots themselves as outputs and nothing else:
    Spark evaluates the rest over the rows.
    """

    keys: tuple[Key, ...]
    aggregates: tuple[AggregateCall, ...]
    parameters: tuple[Slot, ...]
    outputs: tuple[Node, ...]
    having: Node | None = None
    order_by: tuple[Ordering, ...] = ()
    is_limited: bool = False

    @property
    def revises(self) -> bool:
        """True if answers are corrected."""
        return REVISION in self.outputs

    @property
    def chooses(self) -> bool:
        """True if some groups of a window may be left out."""
        return self.having is not None or self.is_limited

    @property
    def constant_outputs(self) -> bool:
        """True if a constant has been lifted from the select list."""
        lifted = {slot.name for slot in self.parameters}
        inner = (node for output in self.outputs for node in walk(output))
        return any(isinstance(node, Slot) and node.name in lifted for node in inner)

    @property
    def is_ordered(self) -> bool:
        return bool(self.order_by) or self.is_limited


@dataclass(frozen=True)
class LiftedQuery:
    """A query as a shape and what sets it apart from others of that shape."""

    name: str
    shape: Shape
    values: tuple[Value, ...]
    limit: int
    column_names: tuple[str, ...]
    finishes_here: bool = True


def finishes_here(plan: QueryPlan) -> bool:
    """True if every finishing expression is in the vectorised set; else Spark evaluates it."""
    return all(is_vectorised(node) for node in plan.finishing)


@lru_cache(maxsize=_MOST_LIFTED)
def lift(plan: QueryPlan) -> LiftedQuery:
    if not finishes_here(plan):
        names = tuple(slot.name for slot in plan.slots)
        shape = Shape(plan.keys, plan.aggregates, (), plan.slots)
        return LiftedQuery(plan.name, shape, (), _NO_LIMIT, names, finishes_here=False)
    slots = {call.slot: _slot_of(call) for call in plan.aggregates}
    lifting = _Lifting(slots)
    having = None if plan.having is None else lifting.node(plan.having)
    order_by = tuple(replace(o, node=lifting.node(o.node)) for o in plan.order_by)
    outputs = tuple(lifting.node(output.node) for output in plan.outputs)
    # Rows are cut once those that are equal have been put together.
    limited = plan.limit is not None
    aggregates = tuple(replace(call, slot=slots[call.slot]) for call in plan.aggregates)
    parameters = tuple(lifting.slots)
    shape = Shape(plan.keys, aggregates, parameters, outputs, having, order_by, limited)
    limit = _NO_LIMIT if plan.limit is None or plan.distinct else plan.limit
    names = tuple(output.name for output in plan.outputs)
    return LiftedQuery(plan.name, shape, tuple(lifting.values), limit, names)


def _slot_of(call: AggregateCall) -> Slot:
    """A slot named for what it holds, so that queries name alike what is alike."""
    return replace(call.slot, name=call.sql)


class _Lifting:
    """Puts a parameter in the place of each constant, in order of appearance."""

    def __init__(self, renamed: Mapping[Slot, Slot]) -> None:
        self.slots: list[Slot] = []
        self.values: list[Value] = []
        self._renamed = renamed

    def node(self, node: Node) -> Node:
        if isinstance(node, Slot):
            return self._renamed.get(node, node)
        if isinstance(node, Literal) and node.value is not None:
            self.slots.append(Slot(f"?{len(self.slots)}", node.type))
            self.values.append(node.value)
            return self.slots[-1]
        if isinstance(node, Call):
            # The digits of ROUND are part of what the operator is.
            liftable = 1 if node.op == "round" else len(node.args)
            arguments = map(self.node, node.args[:liftable])
            return replace(node, args=(*arguments, *node.args[liftable:]))
        return node
