"""The windows whose answers are compared with the next ones: those before windows that are due.

>>> stints = BasisStint("s1", 0, 30), BasisStint("s2", 30, 900)
>>> comparison = Comparison(Window(20, 10), Delta.NEW, stints, since_us=0)
>>> run = Due(("p", "q"), "s2", 20, 10, 30, 2)
>>> for due in with_compared([run], {"p": comparison}):
...     print(due.queries, due.synopsis, due.first_us, due.windows, due.compared)
('q',) s2 30 2 False
('p',) s2 30 2 False
('p',) s1 20 1 True
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tidemill.language.statements import Delta, Window
from tidemill.schedule.due import Due


class BasisStint(NamedTuple):
    """The windows that begin in `[from_us, until_us)`, and the basis that answers them."""

    basis_id: str
    from_us: int
    until_us: int


@dataclass(frozen=True)
class Comparison:
    """What queries that deliver changes have in common: where their windows are answered, and the
    time by which windows ended that they have never answered."""

    window: Window
    delta: Delta
    stints: tuple[BasisStint, ...]
    since_us: int

    def due(self, runs: Iterable[Due]) -> Iterator[Due]:
        """The windows of the runs, each where it is answered, and those before them that have been
        answered and are not among them."""
        placed = [part for run in runs for part in self._placed(run)]
        yield from placed
        last = {run.first_us + (run.windows - 1) * run.slide_us for run in placed}
        for run in placed:
            before_us = run.first_us - run.slide_us
            if before_us not in last and before_us + run.range_us > self.since_us:
                yield from self._placed(run._replace(first_us=before_us, windows=1, compared=True))

    def _placed(self, run: Due) -> Iterator[Due]:
        """The windows of a run by the stints that they begin in, if there are any."""
        for stint in self.stints:
            first, end = (
                min(max(-((run.first_us - us) // run.slide_us), 0), run.windows)
                for us in (stint.from_us, stint.until_us)
            )
            if first < end:
                first_us = run.first_us + first * run.slide_us
                windows = end - first
                yield run._replace(synopsis=stint.basis_id, first_us=first_us, windows=windows)


def with_compared(due: Iterable[Due], comparisons: Mapping[str, Comparison]) -> Iterator[Due]:
    """All runs; those of queries that deliver changes with what is compared."""
    runs: dict[Comparison, list[Due]] = {}
    for run in due:
        names: dict[Comparison | None, list[str]] = {}
        for query in run.queries:
            names.setdefault(comparisons.get(query), []).append(query)
        for comparison, queries in names.items():
            of_these = run._replace(queries=tuple(queries))
            if comparison is None:
                yield of_these
            else:
                runs.setdefault(comparison, []).append(of_these)
    for comparison, several in runs.items():
        yield from comparison.due(several)
