"""Statements for an engine that runs: they wait for the end of a tick, and for their replies."""

from __future__ import annotations

import os
import queue
import threading
from concurrent.futures import Future
from dataclasses import dataclass, field

from tidemill.engine.replies import Answer, Done, carry_out


@dataclass(frozen=True)
class Request:
    text: str
    base: str
    replies: Done = field(default_factory=Future)

    def hand_over(self, done: Done) -> None:
        if error := done.exception():
            self.replies.set_exception(error)
        else:
            self.replies.set_result(done.result())


class Requests:
    """Handed over by any thread, answered by the one that runs the streams."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._runner: int | None = None
        # Held while a run ends, so that nothing is handed over to nobody.
        self._lock = threading.RLock()

    def begin(self) -> None:
        with self._lock:
            self._runner = threading.get_ident()

    def end(self, answer: Answer) -> None:
        """No more are taken; those that came too late for a tick are answered still."""
        with self._lock:
            self.serve(answer)
            self._runner = None

    def ask(self, text: str, base: str | os.PathLike[str]) -> list[str] | None:
        """Hand over, and wait until the statements have been carried out or refused.

        None: no other thread is in the middle of a run, so whoever asks may do it.
        """
        request = Request(text, os.path.abspath(base))
        with self._lock:
            if self._runner in (None, threading.get_ident()):
                return None
            self._waiting.put(request)
        return request.replies.result()

    def serve(self, answer: Answer) -> None:
        while not self._waiting.empty():
            request = self._waiting.get()
            carry_out(answer, request.text, request.base, request.hand_over)
