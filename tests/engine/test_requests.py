"""Statements for an engine that runs: from another thread they wait for the end of a tick."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tidemill.engine.requests import RequestQueue
from tidemill.errors import TidemillError, refuse
from tidemill.explain.replies import Message, Reply


def echo(text: str, base: str) -> list[Reply]:
    return [Message(f"did {text}")]


class Asker(threading.Thread):
    """Asks, and keeps what came back."""

    def __init__(self, requests: RequestQueue, text: str) -> None:
        super().__init__(daemon=True)
        self.requests, self.text = requests, text
        self.replies: list[Reply] | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.replies = self.requests.ask(self.text, ".")
        except TidemillError as error:
            self.error = error


@contextmanager
def waiting(requests: RequestQueue, text: str) -> Iterator[Asker]:
    """A thread that has handed its statement over and has no answer yet."""
    asker = Asker(requests, text)
    asker.start()
    while requests._waiting.empty():
        assert asker.is_alive()
    assert asker.replies is None
    yield asker
    asker.join(60)
    assert not asker.is_alive()


def test_a_statement_from_another_thread_is_carried_out_at_the_boundary() -> None:
    requests = RequestQueue()
    requests.begin()
    with waiting(requests, "DROP QUERY q") as asker:
        requests.serve(echo)
    assert asker.replies == [Message("did DROP QUERY q")]


def test_who_runs_the_streams_does_not_wait_for_itself() -> None:
    requests = RequestQueue()
    assert requests.ask("SHOW QUERIES", ".") is None
    requests.begin()
    assert requests.ask("SHOW QUERIES", ".") is None


def test_a_refusal_comes_back_to_who_asked_and_the_next_is_served() -> None:
    requests, texts = RequestQueue(), ["bad", "good"]

    def answer(text: str, base: str) -> list[Reply]:
        if text == "bad":
            refuse("E_SYNTAX", "that is no statement")
        return echo(text, base)

    requests.begin()
    askers = [Asker(requests, text) for text in texts]
    for number, asker in enumerate(askers, start=1):
        asker.start()
        while requests._waiting.qsize() < number:
            assert asker.is_alive()
    requests.serve(answer)
    for asker in askers:
        asker.join(60)
    assert isinstance(askers[0].error, TidemillError)
    assert askers[0].error.code == "E_SYNTAX"
    assert askers[1].replies == [Message("did good")]


def test_what_comes_in_the_last_tick_is_answered_and_nothing_after_it_waits() -> None:
    requests = RequestQueue()
    requests.begin()
    with waiting(requests, "PAUSE QUERY q") as asker:
        requests.end(echo)
    assert asker.replies == [Message("did PAUSE QUERY q")]
    late = Asker(requests, "too late")
    late.start()
    late.join(60)
    assert not late.is_alive(), "waits for a run that is over"
    assert late.replies is None


@pytest.mark.parametrize("base", [".", "/tmp"])
def test_paths_are_those_of_who_asked(base: str) -> None:
    requests = RequestQueue()
    bases: list[str] = []
    requests.begin()
    asker = threading.Thread(target=requests.ask, args=("x", base), daemon=True)
    asker.start()
    while requests._waiting.empty():
        assert asker.is_alive()

    def answer(_text: str, folder: str) -> list[Reply]:
        bases.append(folder)
        return []

    requests.serve(answer)
    asker.join(60)
    assert bases == [os.path.abspath(base)]
