"""Statements of other threads and processes while streams run: they wait for the end of a tick."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field

from tidemill.engine.home import Home
from tidemill.engine.mailbox import Mailbox
from tidemill.engine.pending import CarryOut, Replies, deliver_replies
from tidemill.explain.replies import Reply


@dataclass(frozen=True)
class ScriptRequest:
    """A script that another thread has handed over, and the replies that it waits for."""

    text: str
    base: str
    replies: Replies = field(default_factory=Future)

    def hand_over(self, replies: Replies) -> None:
        if error := replies.exception():
            self.replies.set_exception(error)
        else:
            self.replies.set_result(replies.result())


class RequestQueue:
    """Handed over by any thread, answered by the one that runs the streams."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[ScriptRequest] = queue.SimpleQueue()
        self._runner: int | None = None
        # Held while a run ends, so that nothing is handed over to nobody.
        self._lock = threading.RLock()

    def begin(self) -> None:
        with self._lock:
            self._runner = threading.get_ident()

    def end(self, carry_out: CarryOut) -> None:
        """No more are taken; those that came too late for a tick are answered still."""
        with self._lock:
            self.serve(carry_out)
            self._runner = None

    def ask(self, text: str, base: str | os.PathLike[str]) -> list[Reply] | None:
        """Hand over, and wait until the statements have been carried out or refused.

        None: no other thread is in the middle of a run, so whoever asks may do it.
        """
        request = ScriptRequest(text, os.path.abspath(base))
        with self._lock:
            if self._runner in (None, threading.get_ident()):
                return None
            self._waiting.put(request)
        return request.replies.result()

    def serve(self, carry_out: CarryOut) -> None:
        while not self._waiting.empty():
            request = self._waiting.get()
            deliver_replies(carry_out, request.text, request.base, request.hand_over)


@contextmanager
def serving(
    home: Home, requests: RequestQueue, carry_out: CarryOut
) -> Iterator[Callable[[], None]]:
    """Gives a function that carries out the statements that wait; the last ones at the end."""
    home.open()
    mailbox = Mailbox(home.path, home.begin_run())
    requests.begin()

    def serve() -> None:
        requests.serve(carry_out)
        mailbox.serve(carry_out)

    try:
        yield serve
    finally:
        requests.end(carry_out)
        mailbox.serve(carry_out)
        home.end_run()
        mailbox.close()
