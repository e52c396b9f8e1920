"""A SELECT by itself: answered once, now, over the windows that are held."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidemill.aggregates.user import give_back
from tidemill.answer.asked import Sheet
from tidemill.answer.delivery import CARRY
from tidemill.answer.shapes import lift
from tidemill.answer.task import AnswerTask, Question
from tidemill.arrays import IntArray
from tidemill.catalog import Catalog
from tidemill.connect.sinks.cells import cell_texts
from tidemill.engine.home import Home
from tidemill.engine.tick.gathering import gathered
from tidemill.engine.tick.journal import StreamState
from tidemill.engine.tick.page import Page
from tidemill.errors import refuse
from tidemill.failpoints import NOWHERE
from tidemill.plan.query import QueryPlan
from tidemill.schedule import Due, Specs, due_windows
from tidemill.share import SharedPlan, Standing, specs_of
from tidemill.share.held import Held, find_held, refuse_too_long
from tidemill.spark.answer import run_answers
from tidemill.spark.session import Session
from tidemill.state.store import Version
from tidemill.words import many, table

NO_ROWS = "no rows"


@dataclass(frozen=True)
class Selecting:
    session: Callable[[], Session]
    home: Home

    def run(self, query: QueryPlan, plan: SharedPlan, state: StreamState) -> str:
        """The answer as a table for people; refused if it is not held."""
        held, due = windows_held(query, plan, state)
        if not due:
            return NO_ROWS
        question = _question(query, held, due)
        return self._answered(query, question, self._tasks(held, state.version, question))

    def _answered(self, query: QueryPlan, question: Question, tasks: list[AnswerTask]) -> str:
        results = run_answers(self.session, tasks)
        for result in results:
            # Of what users' code raises in this process, what ticks have met with is theirs.
            give_back(result.told)
        parts = [result.parts[0] for result in results]
        found = gathered(self.session, query, question, parts)
        raised = int(sum(part.raised.sum() for part in parts) + found.raised.sum())
        notes = [f"{many(raised, 'value')} raised an error and are NULL"] if raised else []
        return "\n".join([_shown(found.rows), *notes])

    def _tasks(self, held: Held, version: Version, question: Question) -> list[AnswerTask]:
        pieces = version.of(held.synopsis.id)
        buckets = sorted({b for piece in pieces for b, _, _ in piece.spans})
        return [
            AnswerTask(
                synopsis=held.synopsis,
                read=read,
                folder=self.home.synopses / held.synopsis.id,
                buckets=1,  # of what is written, which is nothing
                pieces=tuple(piece for piece in pieces if any(map(piece.span, read))),
                questions=(question,),
                staging=self.home.staging,
                tick=0,
                snapshot_from_us=None,
                failpoint=NOWHERE,
                keys=held.keys,
            )
            for read in ([(b,) for b in buckets] if held.keys is None else [tuple(buckets)])
        ]


def refuse_changed(query: QueryPlan, standing: Catalog, catalog: Catalog) -> None:
    """What a script declares anew is not what queries have read so far."""
    names = [("stream", query.stream), *(("table", join.table) for join in query.joins)]
    for kind, name in names:
        key = kind, name.lower()
        if standing.definitions.get(key) != catalog.definitions[key]:
            refuse(
                "E_NOT_HELD",
                f"nothing is held of {kind} {name} as this script declares it",
                hint="a SELECT is answered from what standing queries have kept before it",
            )


def windows_held(
    query: QueryPlan, plan: SharedPlan, state: StreamState
) -> tuple[Held, tuple[Due, ...]]:
    """The windows with rows that have closed and are held in whole.

    With a soft period it is the newest, as a standing query would be answered.
    """
    time = state.time
    standing = Standing(time.newest_us, time.watermark_us, state.version.complete_from)
    found = find_held(plan, query, standing)
    if time.watermark_us is None:
        refuse("E_NOT_HELD", f"stream {query.stream} has had no rows yet", hint="ask again later")
    held = _best(found, query, time.watermark_us)
    if held.too_long(query, time.watermark_us):
        refuse_too_long(held, query, time.watermark_us)
    slices = state.version.slices(held.synopsis.id)
    return held, tuple(_due(query, held, slices, time.watermark_us))


def _best(found: list[Held], query: QueryPlan, until_us: int) -> Held:
    """For the newest window the first that has it, for all windows the one with most of them."""
    if query.window.is_soft:
        return min(found, key=lambda held: bool(held.too_long(query, until_us)))
    return min(found, key=lambda held: held.since_us)


def _due(query: QueryPlan, held: Held, slices: IntArray, until_us: int) -> Iterator[Due]:
    for spec in specs_of(query):
        after_us = held.since_us + spec.range_us - 1
        if query.window.is_soft:
            after_us = max(after_us, until_us - spec.slide_us)
        for first_us, windows in due_windows(Specs.of([spec]), slices, after_us, until_us)[0]:
            yield Due(query.name, held.synopsis.id, spec.range_us, spec.slide_us, first_us, windows)


def _question(query: QueryPlan, held: Held, due: tuple[Due, ...]) -> Question:
    lifted = lift(query)
    page = Page((query.name,), Sheet.of([lifted], lifted.names, [held.reading]), CARRY)
    return page.question([0] * len(due), list(due))


def _shown(rows: pa.Table) -> str:
    if not len(rows):
        return NO_ROWS
    # Buckets have been one after the other; an order within windows stays.
    start, end, *_ = rows.columns
    rows = rows.take(np.lexsort((end.cast("int64").to_numpy(), start.cast("int64").to_numpy())))
    columns = [cell_texts(column) for column in rows.columns]
    return table(tuple(rows.column_names), list(zip(*columns, strict=True)))
