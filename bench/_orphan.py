"""Ends a peer, whole, when the benchmark that started it is gone. Standard library only."""

from __future__ import annotations

import os
import signal
import threading
import time


def end_with_parent() -> None:
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os.killpg(0, signal.SIGKILL)
