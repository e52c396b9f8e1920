"""What the benchmarks share: timed repeats side by side, tables, memory, JSON."""

from __future__ import annotations

import json
import platform
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table


@dataclass
class Timing:
    """Seconds of every repeat of one contender, warm-up left out."""

    name: str
    seconds: list[float] = field(default_factory=list)
    peak_bytes: int = 0
    note: str = ""

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
    watch = PeakMemory()
    started = time.perf_counter()
    with watch:
        work()
    return time.perf_counter() - started, watch.peak_bytes


class PeakMemory:
    """Largest memory of this process and all its children together, sampled."""

    def __init__(self) -> None:
        self.peak_bytes = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        me = psutil.Process()
        while not self._done.wait(0.2):
            self.peak_bytes = max(self.peak_bytes, _used(me))


def _used(root: psutil.Process) -> int:
    total = 0
    for process in [root, *root.children(recursive=True)]:
        try:
            info = process.memory_full_info()
            total += getattr(info, "pss", info.rss)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return total


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
