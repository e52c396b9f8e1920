"""Revisions: which closed windows of a query are answered again, and how often they have been.

>>> revisions = Revisions(since_us=0).paused(10, 20).answered({(0, 10): LastAnswer(1, True)})
>>> [revisions.was_answered(end_us) for end_us in (0, 10, 20, 30)]
[False, True, False, True]
>>> revisions.next_number((0, 10)), revisions.next_number((20, 30))
(2, 1)
>>> dict(revisions.forgotten(10).answers)
{}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

Bounds = tuple[int, int]  # of a window


class LastAnswer(NamedTuple):
    """The number of the last answer to a window, and whether it had rows."""

    number: int
    has_rows: bool


@dataclass(frozen=True)
class Revisions:
    """The answers of a query to windows that may yet be corrected or compared, so far as they
    matter.

    Windows that end by `since_us` closed before the query answered any; it is None before its first
    tick, and of a query that compares answers before the first one after a pause. In the spans of
    `silent`, each from after an instant up to another, the query was paused: windows that ended in
    one were never answered. Of `answers` those are here that are no first ones, and of a query that
    may withdraw answers all that have rows. `changed` are the windows of which a tick has changed
    the answer, to be written down.
    """

    since_us: int | None = None
    silent: tuple[tuple[int, int], ...] = ()
    answers: Mapping[Bounds, LastAnswer] = field(default_factory=lambda: MappingProxyType({}))
    changed: frozenset[Bounds] = field(default=frozenset(), compare=False)

    def was_answered(self, end_us: int) -> bool:
        """True if a window that ends then has been answered, with rows or without."""
        if self.since_us is None or end_us <= self.since_us:
            return False
        return not any(after < end_us <= until for after, until in self.silent)

    def next_number(self, window: Bounds) -> int:
        """The number of the next answer to a closed window."""
        last = self.answers.get(window)
        return 1 if last is None else last.number + 1

    def had_rows(self, window: Bounds) -> bool:
        """True if the last answer to the window had rows, of a query that may withdraw."""
        last = self.answers.get(window)
        return last is not None and last.has_rows

    def unchanged(self) -> Revisions:
        """As a tick finds it: what the last one changed has been written down."""
        return replace(self, changed=frozenset()) if self.changed else self

    def begun(self, watermark_us: int) -> Revisions:
        """In the query's first tick: what has closed before it is not revised."""
        return self if self.since_us is not None else replace(self, since_us=watermark_us)

    def paused(self, after_us: int, until_us: int) -> Revisions:
        """After a pause while the watermark went so far."""
        if until_us <= after_us:
            return self
        spans = self.silent
        if spans and spans[-1][1] == after_us:
            spans, after_us = spans[:-1], spans[-1][0]
        return replace(self, silent=(*spans, (after_us, until_us)))

    def answered(self, answers: Mapping[Bounds, LastAnswer]) -> Revisions:
        """With the last answers to some windows."""
        if not answers:
            return self
        changed = self.changed | answers.keys()
        return replace(self, answers={**self.answers, **answers}, changed=changed)

    def forgotten(self, until_us: int | None) -> Revisions:
        """Without the windows that end by then: no row corrects them any more."""
        if until_us is None:
            return self
        over = [window for window in self.answers if window[1] <= until_us]
        silent = tuple(span for span in self.silent if span[1] > until_us)
        if not over and silent == self.silent:
            return self
        left = {w: answer for w, answer in self.answers.items() if w[1] > until_us}
        return replace(self, silent=silent, answers=left, changed=self.changed | {*over})


NO_REVISIONS = Revisions()
