"""Can this synopsis serve this query? A verdict with reasons, for everybody who asks.

EXPLAIN asks whether a query shares the slices it reads (rule SS1), a one-time query whether the
synopsis has what it needs as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NoReturn

from tidemill import words
from tidemill.aggregates import ROWS
from tidemill.durations import render_duration
from tidemill.errors import refuse
from tidemill.plan.predicates import Reading, Term, read_by
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import multiplying, source_name
from tidemill.share.model import SharedPlan, lanes_of, specs_of
from tidemill.share.synopses import StreamPosition, complete_since
from tidemill.state.synopsis import Synopsis
from tidemill.windows import END_US

_KEEP = "CREATE QUERY name AS … keeps what it needs from then on"
MOST_SHOWN = 10


@dataclass(frozen=True)
class Verdict:
    """The reasons why a synopsis does not serve a query, in words; none if it does.

    Relation and keys of a synopsis never change, so `obstacles` stay. What is `missing` now,
    lanes, bits and edges, can be added; it is then complete from a boundary on.
    """

    synopsis: Synopsis
    query: QueryPlan

    @property
    def serves(self) -> bool:
        """The query can be answered as things are; if it `is_coarser`, by merging groups."""
        return not self.reasons

    @property
    def reasons(self) -> tuple[str, ...]:
        """Everything that is lacking. Other keys mean other cells: no more is said of those."""
        return (*self.obstacles, *(self.missing if self._has_keys else ()))

    @cached_property
    def obstacles(self) -> tuple[str, ...]:
        return tuple(self._obstacles())

    @cached_property
    def missing(self) -> tuple[str, ...]:
        return tuple(self._missing())

    @property
    def is_coarser(self) -> bool:
        """The query groups by some of the keys only."""
        return self._has_keys and len(self._query_keys) < len(self.synopsis.keys)

    @cached_property
    def reading(self) -> Reading | None:
        """The cells that hold the query's rows and no others; None if that cannot be told."""
        synopsis, predicate = self.synopsis, self.query.predicate
        if synopsis.routed and not predicate.is_false:
            bit = synopsis.bit(predicate)
            return Reading((Term(1 << bit.number),)) if bit else None
        reading = read_by(predicate, {bit.number: bit.predicate for bit in synopsis.bits})
        if reading and reading.needs_all and synopsis.all_since_us is None:
            return None
        return reading

    @cached_property
    def _query_keys(self) -> frozenset[str]:
        return frozenset(key.scalar.sql for key in self.query.keys)

    @cached_property
    def _has_keys(self) -> bool:
        return self._query_keys <= {key.scalar.sql for key in self.synopsis.keys}

    def _obstacles(self) -> Iterator[str]:
        if self.synopsis.relation.base != self.query.relation.base:
            yield "another stream"
        relations = self.synopsis.relation, self.query.relation
        if len({multiplying(relation).joins for relation in relations}) > 1:
            yield "another join"
        if not self._has_keys:
            yield "other group keys"

    def _missing(self) -> Iterator[str]:
        kept_for = self.synopsis.kept_for
        yield from (f"no {lane.sql}" for lane in lanes_of(self.query) if kept_for(lane) is None)
        if self.reading is None:
            yield "cannot tell these rows from others"
        elif self.reading.terms:
            cuts = self.synopsis.cuts_of(self.reading)
            specs = specs_of(self.query)
            yield from (
                f"slices not cut for {spec}" for spec in specs if cuts.since(spec) == END_US
            )


@dataclass(frozen=True)
class Serving:
    """A synopsis that has all a query needs from some time on, and how the query reads it."""

    synopsis: Synopsis
    reading: Reading
    since_us: int
    # Of a query with fewer keys, the columns of these: groups are put together for it.
    keys: tuple[str, ...] | None = None

    def too_long(self, query: QueryPlan, until_us: int) -> list[int]:
        """The lengths of which no window lies in `[since_us, until_us)`."""
        return [
            spec.range_us
            for spec in specs_of(query)
            if spec.first_start_after(self.since_us - 1) + spec.range_us > until_us
        ]


def find_servings(plan: SharedPlan, query: QueryPlan, position: StreamPosition) -> list[Serving]:
    """The synopses that serve a one-time query, fewest keys first; refused if there are none.

    Nothing is added for such a query.
    """
    verdicts = [
        Verdict(synopsis, query) for synopsis in plan.of_stream(source_name(query.relation))
    ]
    servings = [_serving(verdict, position) for verdict in verdicts if verdict.serves]
    if not servings:
        _refuse_unserved(verdicts, query)
    return sorted(servings, key=lambda serving: len(serving.synopsis.keys))


def _serving(verdict: Verdict, position: StreamPosition) -> Serving:
    synopsis, query, reading = verdict.synopsis, verdict.query, verdict.reading
    assert reading is not None  # else the verdict has a reason
    since_us = complete_since(synopsis, query, reading, position)
    keys = tuple(dict.fromkeys(map(synopsis.key_column, query.keys)))
    return Serving(
        _narrowed(synopsis, query), reading, since_us, keys if verdict.is_coarser else None
    )


def _narrowed(synopsis: Synopsis, query: QueryPlan) -> Synopsis:
    """With the lanes that the query reads and no others."""
    lanes = list(map(synopsis.kept_for, (ROWS, *lanes_of(query))))
    return replace(
        synopsis, kept_lanes=tuple(kept for kept in synopsis.kept_lanes if kept in lanes)
    )


def _refuse_unserved(verdicts: list[Verdict], query: QueryPlan) -> NoReturn:
    lines = [
        f"{verdict.synopsis.id} by {verdict.synopsis.key_text}: {', '.join(verdict.reasons)}"
        for verdict in verdicts[:MOST_SHOWN]
    ]
    lines = lines or ["no standing query has read it yet"]
    more = len(verdicts) - MOST_SHOWN
    refuse(
        "E_NOT_HELD",
        f"nothing that is held of stream {source_name(query.relation).written} answers this",
        detail="\n".join([*lines, *([f"and {more:,} more"] if more > 0 else [])]),
        hint=f"a SELECT is answered from what standing queries keep; {_KEEP}",
    )


def refuse_too_long(serving: Serving, query: QueryPlan, until_us: int) -> NoReturn:
    """Of some length no window lies in what the synopsis has."""
    ranges = " or ".join(map(render_duration, serving.too_long(query, until_us)))
    longest_us = _longest_us(serving, query, until_us)
    shorter = f"ask for up to [RANGE {render_duration(longest_us)}]; " if longest_us else ""
    refuse(
        "E_NOT_HELD",
        f"no window of {ranges} is held in whole",
        detail=f"{serving.synopsis.id} has what it needs from {words.instant(serving.since_us)} "
        f"on, and time has come to {words.instant(until_us)}",
        hint=f"{shorter}{_KEEP}, and with a soft period its last window too",
    )


def _longest_us(serving: Serving, query: QueryPlan, until_us: int) -> int:
    """A length that would do, in whole updates; 0 if there is none or the period is strict."""
    update_us = query.window.update_us
    if not query.window.is_soft:
        return 0
    from_us = -(-serving.since_us // update_us) * update_us
    return max(0, until_us // update_us * update_us - from_us)
