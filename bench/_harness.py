"""Timed repeats side by side, tables and JSON, for all benchmarks."""

from __future__ import annotations

import json
import platform
import shlex
import statistics
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

# A run as long as this needs no warm-up and no repeat to be told from the others.
ONCE_ABOVE_SECONDS = 60.0


@dataclass(frozen=True)
class Outcome:
    """One run of one contender."""

    seconds: float = float("nan")
    answers: int | None = None
    memory: Mapping[str, int] = field(default_factory=dict)
    failure: str | None = None
    stopped_s: float | None = None  # how long it had run when it was stopped
    details: Mapping[str, float] = field(default_factory=dict)


@dataclass
class Timing:
    """Seconds of every repeat of one contender, warm-up left out; or why there are none."""

    name: str
    seconds: list[float] = field(default_factory=list)
    answers: int | None = None
    memory: dict[str, int] = field(default_factory=dict)
    failure: str | None = None
    stopped_s: float | None = None
    details: dict[str, float] = field(default_factory=dict)
    finished: bool = False

    @property
    def median(self) -> float:
        return statistics.median(self.seconds) if self.seconds else float("nan")

    @property
    def at_least(self) -> float:
        """The median, or how long it had run when it was stopped."""
        return self.stopped_s if self.stopped_s is not None else self.median

    def add(self, outcome: Outcome, counts: bool) -> None:
        for part, used in outcome.memory.items():
            self.memory[part] = max(self.memory.get(part, 0), used)
        self.answers, self.failure = outcome.answers, outcome.failure
        self.stopped_s = outcome.stopped_s
        self.details = dict(outcome.details)
        is_long = outcome.seconds > ONCE_ABOVE_SECONDS
        self.finished = is_long or outcome.failure is not None
        if outcome.failure is None and (counts or is_long):
            self.seconds.append(outcome.seconds)


def side_by_side(
    contenders: Mapping[str, Callable[[], Outcome]], repeats: int, warm_up: int = 1
) -> dict[str, Timing]:
    """Every contender in turn, round after round, so that a slow minute hits all of them.

    One that fails is not asked again; one that takes over a minute is measured once.
    """
    timings = {name: Timing(name) for name in contenders}
    for turn in range(-warm_up, repeats):
        label = "warm-up" if turn < 0 else f"round {turn + 1}"
        for name, work in contenders.items():
            if timings[name].finished:
                continue
            outcome = work()
            tell(f"{label}: {name} {outcome.failure or f'{outcome.seconds:.2f} s'}")
            timings[name].add(outcome, counts=turn >= 0)
    return timings


def tell(text: str) -> None:
    Console(stderr=True).print(text, highlight=False, markup=False)


def print_table(title: str, header: list[str], rows: list[list[str]]) -> None:
    table = Table(title=title, title_justify="left")
    for number, name in enumerate(header):
        table.add_column(name, justify="left" if number == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    Console(width=140).print(table)


def command() -> str:
    """As it was typed; `runpy` puts the program's own path first."""
    return f"tidemill bench {Path(sys.argv[0]).stem} {shlex.join(sys.argv[1:])}".strip()


def write_json(path: Path, content: Mapping[str, object]) -> None:
    """With the machine and the command that made it."""
    head = {
        "command": command(),
        "machine": {
            "cores": psutil.cpu_count(),
            "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
            "python": platform.python_version(),
        },
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**head, **content}, indent=2) + "\n")
