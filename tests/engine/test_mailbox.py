"""Statements from another process: two connections to one mailbox, in one process here."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from tidemill.engine.home import Home
from tidemill.engine.mailbox import Attached, Mailbox
from tidemill.engine.pending import PendingReply
from tidemill.errors import Place, TidemillError, refuse
from tidemill.explain.replies import Message, Reply


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """A home that a run holds."""
    held = Home(tmp_path / "home", to_run=True)
    held.open()
    yield held
    held.close()


@pytest.fixture
def box(home: Home) -> Iterator[Mailbox]:
    with Mailbox(home.path, home.begin_run()) as opened:
        yield opened


def attached(home: Home, while_waiting: Callable[[], None]) -> Attached:
    """The other side; what the runner does meanwhile is done whenever this one sleeps."""
    looks = []

    def sleep(_seconds: float) -> None:
        looks.append(1)
        assert len(looks) < 10, "no answer, and no refusal either"
        while_waiting()

    return Attached(home.path, sleep)


def test_both_sides_may_make_the_mailbox_at_a_time(tmp_path: Path) -> None:
    def make(folder: Path, both: Barrier) -> None:
        both.wait()
        Mailbox(folder, "run").close()

    with ThreadPoolExecutor(2) as pool:
        for number in range(10):
            folder, both = tmp_path / str(number), Barrier(2)
            folder.mkdir()
            for made in [pool.submit(make, folder, both) for _ in range(2)]:
                made.result()


def test_statements_are_carried_out_by_the_runner(home: Home, box: Mailbox, tmp_path: Path) -> None:
    done: list[tuple[str, str]] = []

    def answer(text: str, base: str) -> list[Reply]:
        done.append((text, base))
        return [Message(f"reply {len(done)}"), Message("and more")]

    with attached(home, lambda: box.serve(answer)) as other:
        assert other.sql("DROP QUERY a;", tmp_path) == ["reply 1", "and more"]
        assert other.sql("SHOW QUERIES;", tmp_path) == ["reply 2", "and more"]
    box.serve(answer)
    assert done == [("DROP QUERY a;", str(tmp_path)), ("SHOW QUERIES;", str(tmp_path))]


def test_a_reply_may_come_long_after_the_next_look(home: Home, box: Mailbox) -> None:
    """Others are served meanwhile, and nothing is carried out twice."""
    coming: list[Future[Reply]] = []
    looks: list[int] = []

    def answer(text: str, base: str) -> Sequence[PendingReply]:
        coming.append(Future())
        return [Message("at once"), coming[-1]]

    def serve() -> None:
        box.serve(answer)
        looks.append(len(coming))
        if len(looks) == 3:
            # As the thread does that answers beside the ticks.
            with ThreadPoolExecutor(1) as other:
                other.submit(coming[0].set_result, Message("later")).result()

    with attached(home, serve) as asking:
        assert asking.sql("SELECT 1;") == ["at once", "later"]
    assert looks == [1, 1, 1]


class FullOnce:
    """A connection whose first reply finds no room."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection, self.has_failed = connection, False

    def execute(self, sql: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        if sql.startswith("UPDATE") and not self.has_failed:
            self.has_failed = True
            raise sqlite3.OperationalError("database or disk is full")
        return self._connection.execute(sql, tuple(values))

    def close(self) -> None:
        self._connection.close()


def test_a_reply_that_cannot_be_written_is_written_later(
    home: Home, box: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    coming: Future[Reply] = Future()
    full = FullOnce(box._connection)
    monkeypatch.setattr(box, "_connection", full)

    def serve() -> None:
        box.serve(lambda _text, _base: [coming])
        if not coming.done():
            coming.set_result(Message("at last"))
            assert full.has_failed

    with attached(home, serve) as asking:
        assert asking.sql("SELECT 1;") == ["at last"]


def test_two_at_once_get_their_own_answers(home: Home, box: Mailbox) -> None:
    inner: list[list[str]] = []

    def serve() -> None:
        box.serve(lambda text, _: [Message(text.lower())])

    def ask_in_between() -> None:
        if not inner:
            inner.append([])
            with attached(home, serve) as second:
                inner[0] = second.sql("TWO")
        serve()

    with attached(home, ask_in_between) as first:
        assert first.sql("ONE") == ["one"]
    assert inner == [["two"]]


def test_a_refusal_keeps_its_code_and_place(home: Home, box: Mailbox) -> None:
    def answer(text: str, base: str) -> list[Reply]:
        refuse("E_UNKNOWN_QUERY", "no such query", hint="SHOW QUERIES", place=Place(3, 7))

    with attached(home, lambda: box.serve(answer)) as other, pytest.raises(TidemillError) as told:
        other.sql("DROP QUERY x")
    assert told.value.code == "E_UNKNOWN_QUERY"
    assert told.value.problem.hint == "SHOW QUERIES"
    assert told.value.problem.place == Place(3, 7)


def test_what_breaks_a_statement_does_not_break_the_runner(home: Home, box: Mailbox) -> None:
    def answer(text: str, base: str) -> list[Reply]:
        if text == "bad":
            raise ZeroDivisionError("by nothing")
        return [Message("fine")]

    with attached(home, lambda: box.serve(answer)) as other:
        with pytest.raises(TidemillError) as told:
            other.sql("bad")
        assert told.value.code == "E_INTERNAL"
        assert "by nothing" in told.value.render()
        assert other.sql("good") == ["fine"]


def test_a_runner_that_is_gone_is_told(home: Home) -> None:
    with attached(home, home.close) as other, pytest.raises(TidemillError) as told:
        other.sql("DROP QUERY x")
    assert told.value.code == "E_NOT_ANSWERED"


def test_the_next_runner_does_not_do_what_the_last_one_was_asked(home: Home) -> None:
    done: list[str] = []

    def answer(text: str, base: str) -> list[Reply]:
        done.append(text)
        return []

    def another_comes() -> None:
        home.end_run()
        with Mailbox(home.path, home.begin_run()) as box:
            box.serve(answer)

    with attached(home, another_comes) as other, pytest.raises(TidemillError) as told:
        other.sql("DROP QUERY x")
    assert told.value.code == "E_NOT_ANSWERED"
    assert done == []


def test_a_number_that_is_given_again_does_not_bring_the_answer_of_another(home: Home) -> None:
    second: list[list[str]] = []

    def another_run_is_asked() -> None:
        home.end_run()
        box = Mailbox(home.path, home.begin_run())
        with (
            box,
            attached(home, lambda: box.serve(lambda text, _: [Message(text.lower())])) as other,
        ):
            second.append(other.sql("SHOW SINKS"))

    with attached(home, another_run_is_asked) as first, pytest.raises(TidemillError) as told:
        first.sql("SHOW QUERIES")
    assert second == [["show sinks"]]
    assert told.value.code == "E_NOT_ANSWERED"


def test_a_run_that_is_starting_is_waited_for(home: Home) -> None:
    boxes: list[Mailbox] = []

    def start_in_the_end() -> None:
        started.append(1)
        if len(started) == 3:
            boxes.append(Mailbox(home.path, home.begin_run()))
            boxes[0].serve(lambda text, _: [Message(text.lower())])

    started: list[int] = []
    with attached(home, start_in_the_end) as other:
        assert other.sql("SHOW QUERIES") == ["show queries"]
    boxes[0].close()


def test_a_last_answer_before_the_end_is_heard(home: Home, box: Mailbox) -> None:
    def answer_and_end() -> None:
        box.serve(lambda *_: [Message("done")])
        home.close()

    with attached(home, answer_and_end) as other:
        assert other.sql("PAUSE QUERY x") == ["done"]


def test_who_holds_the_home_and_runs_nothing_is_named(home: Home, box: Mailbox) -> None:
    with attached(home, lambda: None) as other:
        home.end_run()
        with pytest.raises(TidemillError) as told:
            other.sql("SHOW QUERIES")
        with pytest.raises(TidemillError) as told_at_once:
            Attached(home.path)
    assert told.value.code == told_at_once.value.code == "E_HOME_BUSY"
    assert told.value.problem.detail == f"process {os.getpid()}"


def test_a_home_that_nobody_holds_has_nobody_to_ask(home: Home) -> None:
    home.close()
    with pytest.raises(TidemillError) as told:
        Attached(home.path)
    assert told.value.code == "E_NOT_ANSWERED"
