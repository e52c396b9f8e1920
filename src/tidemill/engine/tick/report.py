"""The report of a tick: counts for progress and metrics, and seconds by step."""

from __future__ import annotations

from collections.abc import Mapping
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
