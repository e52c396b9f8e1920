"""What is held for a query that is to be answered once: a synopsis made for others, if any.

Nothing is added for such a query. A synopsis serves it that has its relation, its keys and
perhaps more, every lane, bits that tell its rows from others, and the edges of its windows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NoReturn

from tidemill import words
from tidemill.aggregates import ROWS, lanes_behind
from tidemill.errors import refuse
from tidemill.language.durations import render_duration
from tidemill.plan.predicates import Reading, Term, read_by
from tidemill.plan.query import QueryPlan
from tidemill.share.model import SharedPlan, specs_of
from tidemill.share.needs import multiplying, needs_of
from tidemill.share.synopses import Standing, complete_since
from tidemill.state.synopsis import Synopsis
from tidemill.windows import END_US

_KEEP = "CREATE QUERY name AS … keeps what it needs from then on"
MOST_SHOWN = 10


@dataclass(frozen=True)
class Held:
    """A synopsis that has all the query needs from some time on, and how it is read."""

    synopsis: Synopsis
    reading: Reading
    since_us: int
    # Of a query with fewer keys, the columns of these: groups are put together for it.
    keys: tuple[str, ...] | None = None

    def too_long(self, query: QueryPlan, until_us: int) -> list[int]:
        """The lengths of which no window is held that has closed by then."""
        return [
            spec.range_us
            for spec in specs_of(query)
            if spec.first_start_after(self.since_us - 1) + spec.range_us > until_us
        ]


def find_held(plan: SharedPlan, query: QueryPlan, standing: Standing) -> list[Held]:
    """All of them, those with fewest keys first; refused if there is none."""
    synopses = plan.of_stream(query.stream)
    found = [held for s in synopses if (held := _held(s, query, standing)) is not None]
    if not found:
        _refuse_unheld(synopses, query)
    return sorted(found, key=lambda held: len(held.synopsis.keys))


def _held(synopsis: Synopsis, query: QueryPlan, standing: Standing) -> Held | None:
    reading = _reading(synopsis, query)
    if reading is None or any(_lacking(synopsis, query, reading)):
        return None
    since_us = complete_since(synopsis, query, reading, standing)
    keys = tuple(dict.fromkeys(map(synopsis.key_column, query.keys)))
    is_coarser = len(keys) < len(synopsis.keys)
    return Held(_needed(synopsis, query), reading, since_us, keys if is_coarser else None)


def _needed(synopsis: Synopsis, query: QueryPlan) -> Synopsis:
    """With the lanes that the query reads and no others."""
    lanes = {ROWS, *(lane for call in query.aggregates for lane in lanes_behind(call))}
    return replace(synopsis, kept=tuple(kept for kept in synopsis.kept if kept.lane in lanes))


def _reading(synopsis: Synopsis, query: QueryPlan) -> Reading | None:
    """Which of the cells hold the query's rows and no others; None if that cannot be told."""
    if synopsis.routed and not query.predicate.is_false:
        bit = synopsis.bit(query.predicate)
        return Reading((Term(1 << bit.number),)) if bit else None
    found = read_by(query.predicate, {bit.number: bit.predicate for bit in synopsis.bits})
    if found and found.needs_all and synopsis.all_since_us is None:
        return None
    return found


def _lacking(synopsis: Synopsis, query: QueryPlan, reading: Reading | None) -> Iterator[str]:
    """What the synopsis does not have, in words."""
    own = needs_of([query])
    if own.joins != multiplying(synopsis.joins):
        yield "another join"
    if not own.keys <= {key.scalar.sql for key in synopsis.keys}:
        yield "other group keys"
        return
    kept = set(synopsis.lanes)
    yield from dict.fromkeys(
        f"no {lane.sql}"
        for call in query.aggregates
        for lane in lanes_behind(call)
        if lane not in kept
    )
    if reading is None:
        yield "cannot tell these rows from others"
    elif reading.terms:
        cuts = synopsis.cuts_of(reading)
        yield from (f"no edges of {s}" for s in specs_of(query) if cuts.since(s) == END_US)


def _refuse_unheld(synopses: tuple[Synopsis, ...], query: QueryPlan) -> NoReturn:
    lines = [
        f"{synopsis.id} by {synopsis.key_text}: "
        + ", ".join(_lacking(synopsis, query, _reading(synopsis, query)))
        for synopsis in synopses[:MOST_SHOWN]
    ]
    lines = lines or ["no standing query has read it yet"]
    more = len(synopses) - MOST_SHOWN
    refuse(
        "E_NOT_HELD",
        f"nothing that is held of stream {query.stream} answers this",
        detail="\n".join([*lines, *([f"and {more:,} more"] if more > 0 else [])]),
        hint=f"a SELECT is answered from what standing queries keep; {_KEEP}",
    )


def refuse_too_long(held: Held, query: QueryPlan, until_us: int) -> NoReturn:
    """Of some length no window lies in what is held."""
    ranges = " or ".join(map(render_duration, held.too_long(query, until_us)))
    longest_us = _longest_us(held, query, until_us)
    shorter = f"ask for up to [RANGE {render_duration(longest_us)}]; " if longest_us else ""
    refuse(
        "E_NOT_HELD",
        f"no window of {ranges} is held in whole",
        detail=f"{held.synopsis.id} has what it needs from {words.instant(held.since_us)} on, "
        f"and time has come to {words.instant(until_us)}",
        hint=f"{shorter}{_KEEP}, and with a soft period its last window too",
    )


def _longest_us(held: Held, query: QueryPlan, until_us: int) -> int:
    """A length that would do, in whole updates; 0 if there is none or the period is strict."""
    update_us = query.window.update_us
    if not query.window.is_soft:
        return 0
    from_us = -(-held.since_us // update_us) * update_us
    return max(0, until_us // update_us * update_us - from_us)
