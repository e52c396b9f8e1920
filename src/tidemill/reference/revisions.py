"""Closed windows answered again, in the plainest way: every answer from all rows that counted.

The slow twin of corrections. Of each tick it is told the rows that were accepted and the watermark
before and after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tidemill.aggregates.lanes import PlainWindow
from tidemill.plan.query import QueryPlan
from tidemill.reference.answers import AcceptedRow, ReferenceAnswer, answers, windows_with_rows


@dataclass
class PlainRevisions:
    """A query over a stream that corrects, and all that it has answered."""

    plan: QueryPlan
    rows: list[AcceptedRow] = field(default_factory=list)
    unanswered: list[PlainWindow] = field(default_factory=list)  # spans of the watermark
    numbers: dict[PlainWindow, int] = field(default_factory=dict)
    has_rows: dict[PlainWindow, bool] = field(default_factory=dict)

    def tick(
        self,
        rows: Sequence[AcceptedRow],
        before_us: int | None,
        after_us: int | None,
        is_paused: bool = False,
    ) -> list[ReferenceAnswer]:
        """What the query answers in the tick, with the number of the revision in front of the
        select list, and whether it is withdrawn."""
        self.rows += rows
        if after_us is None:
            return []
        opened_us = -(2**62) if before_us is None else before_us
        if is_paused:
            self.unanswered.append((opened_us, after_us))
            return []
        by_span: dict[PlainWindow, list[tuple[Any, ...]]] = {}
        for start_us, end_us, values in answers(self.plan.answered_once(), self.rows):
            by_span.setdefault((start_us, end_us), []).append(values)
        answered: list[ReferenceAnswer] = []
        for span in windows_with_rows(self.plan, self.rows):
            if opened_us < span[1] <= after_us:
                answered += self._answered(span, by_span.get(span, []), 0)
        for span in windows_with_rows(self.plan, rows):
            if span[1] <= opened_us and not any(a < span[1] <= b for a, b in self.unanswered):
                number = self.numbers.get(span, 0) + 1
                answered += self._answered(span, by_span.get(span, []), number)
        return answered

    def _answered(
        self, span: PlainWindow, rows: list[tuple[Any, ...]], number: int
    ) -> list[ReferenceAnswer]:
        """The answer, or its withdrawal, or nothing where nothing was."""
        had_rows = self.has_rows.get(span, False)
        if not rows and not had_rows:
            return []
        self.numbers[span], self.has_rows[span] = number, bool(rows)
        nothing = (None,) * (len(self.plan.outputs) - 2)
        return [(*span, (number, not rows, *values)) for values in rows or [nothing]]
