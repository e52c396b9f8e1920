"""The report of a tick: counts for progress and metrics, and seconds by step."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class TickReport:
    """The figures of one tick, for progress and metrics."""

    stream: str
    tick: int
    rows_in: int
    rows_late: int
    rows_malformed: int
    answers: Mapping[str, int]
    watermark_us: int | None
    seconds: float
    phases: Mapping[str, float] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)
    route: str = ""  # who made the partials


class Stopwatch:
    """Seconds by step of a tick."""

    def __init__(self) -> None:
        self.phases: dict[str, float] = {}
        self._started = time.perf_counter()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.add(name, time.perf_counter() - started)

    def add(self, name: str, seconds: float) -> None:
        self.phases[name] = self.phases.get(name, 0.0) + seconds

    def total(self) -> float:
        return time.perf_counter() - self._started
