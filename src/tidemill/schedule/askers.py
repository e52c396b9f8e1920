"""Who asks for windows: queries that want the same ones, as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from tidemill.language.names import Name
from tidemill.language.statements import Delta, Emit
from tidemill.plan.query import QueryPlan
from tidemill.schedule.due import DelayedSpec, Due, Specs, WindowRun
from tidemill.share import specs_of
from tidemill.windows import WindowSpec


def due_specs(query: QueryPlan) -> list[DelayedSpec]:
    """The windows of a query, and how long after one with rows there is something to answer: what
    has gone is known as the next one closes."""
    after_us = query.before_us if query.delta is Delta.GONE else 0
    return [(spec, after_us) for spec in specs_of(query)]


class AnyStint(Protocol):
    """The windows that begin in `[from_us, until_us)`."""

    @property
    def from_us(self) -> int: ...

    @property
    def until_us(self) -> int: ...


@dataclass(frozen=True)
class Asker:
    """Queries that want the same windows of one length, between the same bounds of their stints.

    One that is answered without rows too is alone: what is due of it depends on its state. What
    wants to know what has gone is told of each window with rows as the next one closes.
    """

    basis_id: str
    number: int  # of the windows, among all of the basis
    spec: WindowSpec
    after_us: int  # how long after a window with rows they want to know of it
    emit: Emit
    from_us: int
    until_us: int
    queries: tuple[str, ...]

    def due(self, runs: Iterable[WindowRun]) -> Iterator[Due]:
        """The windows of the stint, or those after them."""
        spec = self.spec
        for run in runs:
            first_us, windows = self._within(run)
            if windows > 0:
                lengths = spec.range_us, spec.slide_us
                yield Due(self.queries, self.basis_id, *lengths, first_us + self.after_us, windows)

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
    members = zip(specs.specs, specs.after_us.tolist(), strict=True)
    numbers = {member: number for number, member in enumerate(members)}
    names: dict[tuple[int, Emit, int, int, str], list[str]] = {}
    for query, stint in readers:
        if Name(query.name) in paused:
            continue
        alone = query.name if query.emit.empty_windows else ""
        for member in due_specs(query):
            key = numbers[member], query.emit, stint.from_us, stint.until_us, alone
            names.setdefault(key, []).append(query.name)
    return tuple(
        Asker(
            *(basis_id, number, specs.specs[number], int(specs.after_us[number])),
            *(emit, from_us, until_us, tuple(queries)),
        )
        for (number, emit, from_us, until_us, _), queries in names.items()
    )
