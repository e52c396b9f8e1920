"""Statements of other threads and processes while streams run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tidemill.engine.home import Home
from tidemill.engine.mailbox import Mailbox
from tidemill.engine.replies import Answer
from tidemill.engine.requests import Requests


@contextmanager
def serving(home: Home, requests: Requests, answer: Answer) -> Iterator[Callable[[], None]]:
    """Gives what carries out the statements that wait; those left are carried out at the end."""
    home.open()
    mailbox = Mailbox(home.path, home.begin_run())
    requests.begin()

    def serve() -> None:
        requests.serve(answer)
        mailbox.serve(answer)

    try:
        yield serve
    finally:
        requests.end(answer)
        mailbox.serve(answer)
        home.end_run()
        mailbox.close()
