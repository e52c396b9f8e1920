"""Peak memory by part: the driver, its JVM, the Python workers, or a peer as a whole."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

_EVERY_SECONDS = 0.25
Parts = dict[str, int]


@contextmanager
def watched_memory(root_pid: int | None = None) -> Iterator[Parts]:
    """Fills the parts with their peaks while the block runs; `total` is the peak of the sum.

    Processes in a session of their own are peers of the benchmark and are left out, unless
    the watch begins at one of them.
    """
    peaks: Parts = {}
    done = threading.Event()
    thread = threading.Thread(target=_watch, args=(root_pid, peaks, done), daemon=True)
    thread.start()
    try:
        yield peaks
    finally:
        done.set()
        thread.join()


def _watch(root_pid: int | None, peaks: Parts, done: threading.Event) -> None:
    root = psutil.Process(root_pid)
    while not done.wait(_EVERY_SECONDS):
        now = _sample(root)
        now["total"] = sum(now.values())
        for part, used in now.items():
            peaks[part] = max(peaks.get(part, 0), used)


def _sample(root: psutil.Process) -> Parts:
    parts: Parts = {"driver": _used(root)}
    pending = _children(root)
    while pending:
        process, under_jvm = pending.pop()
        name = _name(process)
        part = "workers" if under_jvm else "jvm" if name == "java" else "driver"
        parts[part] = parts.get(part, 0) + _used(process)
        pending += _children(process, under_jvm or name == "java")
    return parts


def _children(
    process: psutil.Process, under_jvm: bool = False
) -> list[tuple[psutil.Process, bool]]:
    try:
        found = process.children()
    except psutil.Error:
        return []
    return [(child, under_jvm) for child in found if child.pid not in PEERS]


# Filled by whoever starts a peer.
PEERS: set[int] = set()


def _name(process: psutil.Process) -> str:
    try:
        return str(process.name())
    except psutil.Error:
        return ""


def _used(process: psutil.Process) -> int:
    """Pages shared between forked workers count once, where the system tells it."""
    try:
        info = process.memory_full_info()
    except psutil.Error:
        return 0
    return int(getattr(info, "pss", info.rss))
