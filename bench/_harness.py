"""What the benchmarks share: timed repeats side by side, tables, memory, JSON."""

from __future__ import annotations

import json
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from tidemill.cli.memory import MemoryWatch


@dataclass
class Timing:
    """Seconds of every repeat of one contender, warm-up left out."""

    name: str
    seconds: list[float] = field(default_factory=list)
    peak_bytes: int = 0

    @property
    def median(self) -> float:
        return statistics.median(self.seconds) if self.seconds else float("nan")


def side_by_side(
    contenders: dict[str, Callable[[], None]], repeats: int, warm_up: int = 1
) -> dict[str, Timing]:
    """Every contender in turn, round after round, so that a slow minute hits all of them."""
    timings = {name: Timing(name) for name in contenders}
    console = Console(stderr=True)
    for turn in range(-warm_up, repeats):
        for name, work in contenders.items():
            seconds, peak = _timed(work)
            label = "warm-up" if turn < 0 else f"round {turn + 1}"
            console.print(f"{label}: {name} {seconds:.2f} s", highlight=False)
            timings[name].peak_bytes = max(timings[name].peak_bytes, peak)
            if turn >= 0:
                timings[name].seconds.append(seconds)
    return timings


def _timed(work: Callable[[], None]) -> tuple[float, int]:
    watch = MemoryWatch()
    started = time.perf_counter()
    with watch:
        work()
    return time.perf_counter() - started, watch.peak_bytes


def print_table(title: str, header: list[str], rows: list[list[str]]) -> None:
    table = Table(title=title, title_justify="left")
    for number, name in enumerate(header):
        table.add_column(name, justify="left" if number == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    Console(width=120).print(table)


def write_json(path: Path, content: dict[str, object]) -> None:
    machine = {
        "cores": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "python": platform.python_version(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine, **content}, indent=2) + "\n")
