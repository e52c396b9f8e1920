"""The sharing rules of the synopsis papers by name: why something is kept or done once.

SS rules are about state: they hold between a query and a synopsis. CS rules are about work: they
hold between two queries of one synopsis, where the first can use what the second has done. The
rules explain a plan; costs decide it. SS3, CS4 and CS5 are left out: they are about joins of two
windows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Generic, TypeVar

from tidemill.aggregates import lanes_behind
from tidemill.plan.predicates import read_by
from tidemill.plan.query import AggregateCall, QueryPlan
from tidemill.share.model import specs_of
from tidemill.share.serves import Verdict
from tidemill.state.synopsis import Synopsis
from tidemill.windows import WindowSpec

With = TypeVar("With")


@dataclass(frozen=True)
class Rule(Generic[With]):
    """`applies(query, other)` says that the query shares with the other by this rule."""

    name: str
    sentence: str
    applies: Callable[[QueryPlan, With], bool]
    # Between two queries: they share only if they have a shelf in common, and whether they do
    # depends on the looks of both alone. `companions.py` goes by it where there are many.
    shelves: Callable[[QueryPlan], Iterable[Hashable]] = lambda _: [None]
    look: Callable[[QueryPlan], Hashable] = lambda query: query


def any_window(query: QueryPlan, synopsis: Synopsis) -> bool:
    """The synopsis has the query's groups, its partials, and its windows' edges."""
    verdict = Verdict(synopsis, query)
    return verdict.serves and not verdict.is_coarser


def mean_of_sum_and_count(query: QueryPlan, synopsis: Synopsis) -> bool:
    """It asks for an AVG, and the synopsis has the sum and the count of its argument."""
    means = [call for call in query.aggregates if call.function == "AVG"]
    return any(all(map(synopsis.kept_for, lanes_behind(call))) for call in means)


def covered(query: QueryPlan, synopsis: Synopsis) -> bool:
    """Its predicate has no bit there, and yet the bits tell which rows are its own."""
    if synopsis.routed or synopsis.bit(query.predicate) is not None:
        return False
    reading = read_by(query.predicate, {bit.number: bit.predicate for bit in synopsis.bits})
    return reading is not None and bool(reading.bits)


def one_probe(query: QueryPlan, other: QueryPlan) -> bool:
    """Both ask for the same groups and rows of some equal windows."""
    return _meet(query, other) and one_reading(query, other)


def one_reading(query: QueryPlan, other: QueryPlan) -> bool:
    """Both ask for the same groups and rows, in whatever windows."""
    return one_pass(query, other) and query.predicate == other.predicate


def one_lane(query: QueryPlan, other: QueryPlan) -> bool:
    """Different aggregates of theirs come from one partial, as SUM(x) and AVG(x) do.

    Or what is behind one of them derives from what is behind the other.
    """
    if not one_pass(query, other):
        return False
    pairs = product(query.aggregates, other.aggregates)
    return any(a.sql != b.sql and _have_one_lane(a, b) for a, b in pairs)


def _have_one_lane(call: AggregateCall, other: AggregateCall) -> bool:
    pairs = product(lanes_behind(call), lanes_behind(other))
    return any(a == b or a.derives_from(b) or b.derives_from(a) for a, b in pairs)


def cover_of_equal_windows(query: QueryPlan, other: QueryPlan) -> bool:
    """As the next rule, and some of their windows are equal."""
    return _meet(query, other) and cover(query, other)


def cover(query: QueryPlan, other: QueryPlan) -> bool:
    """The other's rows are some of those that the query's condition lets pass."""
    wide, narrow = query.predicate, other.predicate
    if wide.is_true or narrow.is_false or wide == narrow or not one_pass(query, other):
        return False
    return wide.contains(narrow)


def longer_period(query: QueryPlan, other: QueryPlan) -> bool:
    """The same query, answered less often: all of its windows are windows of the other."""
    if query.window.is_soft or other.window.is_soft:
        return False
    slower = query.window.slide_us > other.window.slide_us
    return slower and _inside(query, other) and _question(query) == _question(other)


def one_pass(query: QueryPlan, other: QueryPlan) -> bool:
    """Both group the same relation alike, so that one synopsis can serve both."""
    return query.relation == other.relation and _keys(query) == _keys(other)


def _keys(query: QueryPlan) -> frozenset[str]:
    return frozenset(key.scalar.sql for key in query.keys)


def _question(query: QueryPlan) -> Hashable:
    """All of the query but its name, its window, its sink, and how its condition is written."""
    rows = query.relation, query.keys, query.predicate, query.aggregates
    return rows, query.outputs, query.having, query.order_by, query.limit, query.priority


def _groups(query: QueryPlan) -> Hashable:
    return query.relation, _keys(query)


def _reading(query: QueryPlan) -> Hashable:
    return _groups(query), query.predicate


def _by_length(of: Callable[[QueryPlan], Hashable]) -> Callable[[QueryPlan], Iterable[Hashable]]:
    """A shelf for each length of window."""
    return lambda query: [(of(query), range_us) for range_us in query.window.ranges_us]


def _meet(query: QueryPlan, other: QueryPlan) -> bool:
    """Some window of the query is a window of the other."""
    pairs = product(specs_of(query), specs_of(other))
    return any(a.range_us == b.range_us and _starts_meet(a, b) for a, b in pairs)


def _starts_meet(a: WindowSpec, b: WindowSpec) -> bool:
    return (a.start_us - b.start_us) % math.gcd(a.slide_us, b.slide_us) == 0


def _inside(query: QueryPlan, other: QueryPlan) -> bool:
    """Every window of the query is a window of the other."""
    window, wider = query.window, other.window
    if not set(window.ranges_us) <= set(wider.ranges_us):
        return False
    apart_us = window.start_us - wider.start_us
    return window.slide_us % wider.slide_us == 0 == apart_us % wider.slide_us


SS1 = Rule("SS1", "one set of slices serves windows of any length and slide", any_window)
SS2 = Rule("SS2", "AVG comes from a sum and a count", mean_of_sum_and_count)
SS4 = Rule("SS4", "a predicate is read from the bits of others", covered)
CS1 = Rule(
    "CS1",
    "equal windows of the same rows are combined once",
    one_probe,
    _by_length(_reading),
    lambda query: query.window,
)
CS2 = Rule(
    "CS2",
    "windows of the same rows come from one pass over the slices",
    one_reading,
    lambda query: [_reading(query)],
    lambda _: None,
)
CS3 = Rule(
    "CS3",
    "SUM, COUNT and AVG of one expression share partials",
    one_lane,
    lambda query: [_groups(query)],
    lambda query: query.aggregates,
)
CS6 = Rule(
    "CS6",
    "a wider condition builds on a narrower one, equal windows",
    cover_of_equal_windows,
    _by_length(_groups),
    lambda query: (query.predicate, query.window),
)
CS7 = Rule(
    "CS7",
    "a wider condition builds on a narrower one, any windows",
    cover,
    lambda query: [_groups(query)],
    lambda query: query.predicate,
)
CS8 = Rule(
    "CS8",
    "the same query asked less often takes the answers there are",
    longer_period,
    _by_length(_question),
    lambda query: query.window,
)

KEEPING: tuple[Rule[Synopsis], ...] = (SS1, SS2, SS4)
DOING: tuple[Rule[QueryPlan], ...] = (CS1, CS2, CS3, CS6, CS7, CS8)
# Where cells are kept once for each predicate, there is nothing to build on.
BY_SIGNATURE = (CS6, CS7)
SENTENCES = {
    **{rule.name: rule.sentence for rule in KEEPING},
    **{rule.name: rule.sentence for rule in DOING},
}
