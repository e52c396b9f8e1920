"""Peak memory of this process and its children, the JVM and the workers among them."""

from __future__ import annotations

import threading
from types import TracebackType

import psutil

_EVERY_SECONDS = 0.25


class MemoryWatch:
    """Samples in a thread; `peak_bytes` is the largest sum seen.

    Pages shared between forked workers are counted once, by the proportional set size,
    where the system tells it.
    """

    def __init__(self) -> None:
        self.peak_bytes = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        me = psutil.Process()
        while not self._done.wait(_EVERY_SECONDS):
            self.peak_bytes = max(self.peak_bytes, used_bytes(me))


def used_bytes(root: psutil.Process) -> int:
    return sum(_process_bytes(process) for process in [root, *root.children(recursive=True)])


def _process_bytes(process: psutil.Process) -> int:
    try:
        info = process.memory_full_info()
        return int(getattr(info, "pss", info.rss))
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0
