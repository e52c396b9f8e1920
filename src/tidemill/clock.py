"""Clocks and a stopwatch. Time is an argument: who needs the wall clock takes a `Clock`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Clock(Protocol):
    def now_us(self) -> int:
        """Microseconds since the epoch."""

    def elapsed_s(self) -> float:
        """Seconds since some moment, for how long something took; never runs back."""

    def sleep(self, seconds: float) -> None:
        """Wait; a test's clock returns at once."""


class SystemClock:
    def now_us(self) -> int:
        return time.time_ns() // 1000

    def elapsed_s(self) -> float:
        return time.perf_counter()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class ManualClock:
    """A clock that moves only when told, or by what it is asked to sleep.

    >>> clock = ManualClock(5)
    >>> clock.sleep(1.5); clock.now_us()
    1500005
    """

    def __init__(self, now_us: int = 0) -> None:
        self._now_us = now_us

    def now_us(self) -> int:
        return self._now_us

    def elapsed_s(self) -> float:
        return self._now_us / 1_000_000

    def advance(self, micros: int) -> None:
        self._now_us += micros

    def sleep(self, seconds: float) -> None:
        self.advance(round(seconds * 1_000_000))


class Stopwatch:
    """Seconds by step of some work, for a report and for no decision."""

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
