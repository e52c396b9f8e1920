"""Who asks for windows: queries that want the same ones, as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from tidemill.language.names import Name
from tidemill.language.statements import Emit
from tidemill.plan.query import QueryPlan
from tidemill.schedule.due import Due, Specs, WindowRun
from tidemill.share import specs_of
from tidemill.windows import WindowSpec


class AnyStint(Protocol):
    """The windows that begin in `[from_us, until_us)`."""

    @property
    def from_us(self) -> int: ...

    @property
    def until_us(self) -> int: ...


@dataclass(frozen=True)
class Asker:
    """Queries that want the same windows of one length, between the same bounds of their stints.

    One that is answered without rows too is alone: what is due of it depends on its state.
    """

    basis_id: str
    number: int  # of the windows, among all of the basis
    spec: WindowSpec
    emit: Emit
    from_us: int
    until_us: int
    queries: tuple[str, ...]

    def due(self, runs: Iterable[WindowRun]) -> Iterator[Due]:
        """The windows of the stint."""
        spec = self.spec
        for run in runs:
            within = self._within(run)
            if within.windows > 0:
                yield Due(self.queries, self.basis_id, spec.range_us, spec.slide_us, *within)

    def _within(self, run: WindowRun) -> WindowRun:
        """The part of a run that begins within the stint."""
        slide_us = self.spec.slide_us
        skipped = max(0, -((run.first_us - self.from_us) // slide_us))
        first_us = run.first_us + skipped * slide_us
        before_end = -((first_us - self.until_us) // slide_us)
        return WindowRun(first_us, min(run.windows - skipped, before_end))


def askers_of(
    basis_id: str,
    readers: Iterable[tuple[QueryPlan, AnyStint]],
    specs: Specs,
    paused: frozenset[str],
) -> tuple[Asker, ...]:
    """The readers that are not paused, by what of their windows, which are among the specs, is due
    when."""
    numbers = {spec: number for number, spec in enumerate(specs.specs)}
    names: dict[tuple[int, Emit, int, int, str], list[str]] = {}
    for query, stint in readers:
        if Name(query.name) in paused:
            continue
        alone = query.name if query.emit.empty_windows else ""
        for spec in specs_of(query):
            key = numbers[spec], query.emit, stint.from_us, stint.until_us, alone
            names.setdefault(key, []).append(query.name)
    return tuple(
        Asker(basis_id, number, specs.specs[number], emit, from_us, until_us, tuple(queries))
        for (number, emit, from_us, until_us, _), queries in names.items()
    )
