"""Processor time of this process and of all below it, which other work on the machine changes
less than seconds on the wall."""

from __future__ import annotations

import psutil


def processor_seconds() -> float:
    """Since they were started; of children that have ended, too."""
    root = psutil.Process()
    return sum(map(_seconds, (root, *root.children(recursive=True))))


def _seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)
