"""The readers of a synopsis: queries with their windows and the stints in which they read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tidemill.plan.query import QueryPlan
from tidemill.schedule.due import Due, Specs, WindowRun
from tidemill.share import Stint, specs_of
from tidemill.windows import WindowSpec


@dataclass(frozen=True)
class StintReader:
    """A query with the windows of one length, and its stint in a synopsis."""

    key: str
    query: QueryPlan
    stint: Stint
    spec: WindowSpec

    def due(self, runs: Iterable[WindowRun]) -> Iterator[Due]:
        """The windows of the stint."""
        for run in runs:
            within = _within(run, self.spec, self.stint)
            if within.windows > 0:
                yield Due(
                    self.query.name, self.key, self.spec.range_us, self.spec.slide_us, *within
                )


@dataclass(frozen=True)
class StintReaders:
    """The readers of a synopsis, their distinct windows, and which of those each has."""

    readers: tuple[tuple[QueryPlan, Stint], ...]
    specs: Specs
    numbers: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(readers: tuple[tuple[QueryPlan, Stint], ...]) -> StintReaders:
        by_query = [specs_of(query) for query, _ in readers]
        specs = dict.fromkeys(spec for specs in by_query for spec in specs)
        distinct = {spec: number for number, spec in enumerate(specs)}
        numbers = tuple(tuple(distinct[spec] for spec in specs) for specs in by_query)
        return StintReaders(readers, Specs.of(distinct), numbers)


def _within(run: WindowRun, spec: WindowSpec, stint: Stint) -> WindowRun:
    """The part of a run that begins within the stint."""
    skipped = max(0, -((run.first_us - stint.from_us) // spec.slide_us))
    first_us = run.first_us + skipped * spec.slide_us
    before_end = -((first_us - stint.until_us) // spec.slide_us)
    return WindowRun(first_us, min(run.windows - skipped, before_end))
