"""The revisions of queries after a tick: what it has answered again, withdrawn or let go by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tidemill.answer.withdrawals import ClosedAnswers
from tidemill.engine.tick.bases import least_final_us, register_of
from tidemill.engine.tick.journal import Decision, QueryState, TickRecord
from tidemill.language.names import Name
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_names
from tidemill.schedule import Bounds, LastAnswer, Revisions
from tidemill.windows import BEGINNING_US


@dataclass(frozen=True)
class Review:
    """A tick as it bears on revisions: its decision, and what has become of it by query."""

    record: TickRecord
    decision: Decision
    finals: Mapping[Name, int | None]  # windows that end by then are answered for good, by stream
    outcomes: Mapping[str, ClosedAnswers]

    def revisions_after(
        self,
        queries: Iterable[QueryPlan],
        states: Mapping[str, QueryState],
        paused: frozenset[str],
    ) -> dict[str, Revisions]:
        """The revisions of the queries for which the tick has changed something."""
        numbers: dict[str, dict[Bounds, int]] = {}
        for run in self.decision.due:
            if run.revisions:
                by_window = dict(zip(run.spans(), run.revisions, strict=True))
                for query in run.queries:
                    numbers.setdefault(query, {}).update(by_window)
        changed = {}
        for plan in queries:
            before = states[plan.name].revisions
            of_query = numbers.get(plan.name, {})
            after = self._after(plan, before.unchanged(), of_query, Name(plan.name) in paused)
            if after != before:
                changed[plan.name] = after
        return changed

    def _after(
        self, query: QueryPlan, before: Revisions, numbers: Mapping[Bounds, int], is_paused: bool
    ) -> Revisions:
        sources, record = source_names(query.relation), self.record
        was_us = register_of(sources, record.times()).watermark_us
        after_us = BEGINNING_US if was_us is None else was_us
        until_us = register_of(sources, record.times(self.decision.time)).watermark_us
        revisions = before.begun(after_us)
        if is_paused and until_us is not None:
            revisions = revisions.paused(after_us, until_us)
        answers = self._answers(query, numbers)
        return revisions.answered(answers).forgotten(least_final_us(sources, self.finals))

    def _answers(self, query: QueryPlan, numbers: Mapping[Bounds, int]) -> dict[Bounds, LastAnswer]:
        """Of a query that never withdraws all that is answered again has rows."""
        if not query.may_withdraw:
            return {window: LastAnswer(number, True) for window, number in numbers.items()}
        outcome = self.outcomes.get(query.name, ClosedAnswers())
        answers = {w: LastAnswer(numbers.get(w, 0), True) for w in outcome.with_rows}
        return answers | {w: LastAnswer(numbers[w], False) for w in outcome.withdrawn}
