"""Subscribers: callbacks that get a query's answers after the commit, on threads of their own.

A slow callback delays no tick, and an error in one stays with it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

Callback = Callable[[pa.Table], None]
# A callback that is this many ticks behind is not called again: answers would fill the memory.
MOST_TICKS_BEHIND = 10_000
_END = None


@dataclass
class Subscriber:
    """One callback, called with the answers of each tick in turn."""

    query: str
    callback: Callback
    error: str = ""  # the first; later answers are still handed over
    is_over: bool = False
    _waiting: queue.SimpleQueue[pa.Table | None] = field(default_factory=queue.SimpleQueue)
    _thread: threading.Thread | None = None

    def hand_over(self, rows: pa.Table) -> None:
        if self.is_over:
            return
        if self._waiting.qsize() >= MOST_TICKS_BEHIND:
            self.is_over = True
            self.error = f"{MOST_TICKS_BEHIND:,} ticks behind; it is not called again"
            return
        self._waiting.put(rows)
        if self._thread is None:
            name = f"subscriber of {self.query}"
            self._thread = threading.Thread(target=self._work, name=name, daemon=True)
            self._thread.start()

    def end(self) -> None:
        """No more answers come in this run."""
        if self._thread is not None:
            self._waiting.put(_END)

    def is_working(self, wait_seconds: float) -> bool:
        """True if answers are still being handed over, after waiting so long for their end."""
        if self._thread is None:
            return False
        self._thread.join(wait_seconds)
        if self._thread.is_alive():
            return True
        self._thread = None
        return False

    def _work(self) -> None:
        while (rows := self._waiting.get()) is not _END:
            try:
                self.callback(rows)
            except BaseException as error:
                # The thread is this callback's alone: whatever it raises ends nothing else.
                self.error = self.error or f"{type(error).__name__}: {error}"


class Subscribers(dict[str, list[Subscriber]]):
    """All subscribers of an engine, by query."""

    def add(self, query: str, callback: Callback) -> None:
        self.setdefault(query, []).append(Subscriber(query, callback))

    def publish(self, query: str, rows: pa.Table) -> None:
        """Hand the answers of a tick to all who watch the query; waits for none of them."""
        for subscriber in self.get(query, ()):
            subscriber.hand_over(rows)

    def finish(self, meanwhile: Callable[[], None], wait_seconds: float = 0.02) -> dict[str, str]:
        """Wait until everybody has all answers; returns the errors of the run, by query.

        `meanwhile` is called while somebody works: a callback may itself wait for a statement.
        """
        for subscriber in self._all():
            subscriber.end()
        while any(subscriber.is_working(wait_seconds) for subscriber in self._all()):
            meanwhile()
        return self._take_errors()

    def _take_errors(self) -> dict[str, str]:
        errors: dict[str, str] = {}
        for subscriber in self._all():
            if subscriber.error:
                errors.setdefault(subscriber.query, subscriber.error)
                subscriber.error = ""
        return errors

    def _all(self) -> list[Subscriber]:
        return [subscriber for subscribers in list(self.values()) for subscriber in subscribers]
