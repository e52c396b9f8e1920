"""One page of queries: those that are answered in one go, and their windows as a question."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tidemill.answer.asked import Asked, Sheet
from tidemill.answer.delivery import COUNT
from tidemill.answer.task import Question
from tidemill.schedule import Due


@dataclass(frozen=True)
class Page:
    """Queries of one shape whose answers take one route to one sink."""

    queries: tuple[str, ...]
    sheet: Sheet
    route: str

    def question(self, numbers: list[int], due: list[Due]) -> Question:
        """The windows of some of the queries, each given by its number."""
        counts = np.array([one.windows for one in due])
        first, slide, length = (
            np.repeat(np.array(values, dtype=np.int64), counts)
            for values in zip(*((d.first_us, d.slide_us, d.range_us) for d in due), strict=True)
        )
        within = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
        starts = first + within * slide
        wants_rows = self.route != COUNT
        owner = np.repeat(numbers, counts)
        asked = Asked(self.sheet, owner, starts, starts + length, wants_rows)
        return Question(self.queries, asked, self.route)
