"""Ctrl-C finishes the tick and stops; a second one stops at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stopping(stop: Callable[[], None]) -> Iterator[list[str]]:
    """Call `stop` on SIGINT or SIGTERM; the list then holds the signal's name."""
    signals: list[str] = []

    def handle(number: int, _: FrameType | None) -> None:
        if signals:
            os._exit(128 + number)
        signals.append(signal.Signals(number).name)
        stop()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
