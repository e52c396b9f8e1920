"""What the tick log stores of an input: as the source gives it, and as homes of before have it."""

from __future__ import annotations

import json
import sqlite3

import pytest

from tidemill.connect.sources import Json, Position
from tidemill.connect.sources.files import FileInput
from tidemill.connect.sources.spans import NumberSpan
from tidemill.engine.tick.journal import Journal, StreamState, TickRecord
from tidemill.language.names import Name
from tidemill.time import Register

MARKS: list[Json] = [
    None,
    7,
    1_767_225_600_000_001,
    {"orders-0": 12, "orders-1": 0},
    ["a.log", [0, 4096]],
    "batch 7",
    False,
]


def old_record(files: list[str], low: int, high: int, flush: bool, **more: Json) -> str:
    """As it was written when all sources had one form of input."""
    raw = {
        "stream": "s",
        "number": 3,
        "plan_version": 1,
        "batch_time_us": 9,
        "time": {"newest_us": 5, "watermark_us": 4},
        "taken": {"files": files, "low": low, "high": high},
        "skipped": {},
        "flush": flush,
        "carried": [],
    }
    return json.dumps({**raw, **more})


def test_files_of_an_old_record_are_taken():
    record = TickRecord.from_json(old_record(["/b"], 0, 0, False, skipped={"/a": "torn"}))
    assert FileInput(tuple(record.portion["files"])) == FileInput(("/b",))
    assert (set(record.names), record.mark) == ({"/a", "/b"}, None)


def test_a_span_of_an_old_record_is_taken():
    record = TickRecord.from_json(old_record([], 4, 9, False))
    assert NumberSpan.restore(record.portion) == NumberSpan(4, 9)
    assert (record.names, record.mark) == ((), 9)


def test_an_old_flush_takes_nothing():
    record = TickRecord.from_json(old_record([], 0, 0, True))
    assert (record.portion, record.names, record.mark, record.flush) == (None, (), None, True)


@pytest.mark.parametrize("portion", [FileInput(("/a", "/b")), NumberSpan(3, 8)])
def test_a_record_comes_back_as_it_was(portion: FileInput | NumberSpan):
    stored = json.loads(json.dumps(portion.to_json()))
    record = TickRecord(
        "s", 1, 1, 0, Register(), stored, portion.names, portion.mark, {"/c": "torn"}
    )
    assert TickRecord.from_json(record.to_json()) == record


@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_is_any_value_of_its_source(mark: Json):
    journal = Journal(sqlite3.connect(":memory:", isolation_level=None))
    record = TickRecord("s", 1, 1, 0, Register(), names=("x", "y"), mark=mark)
    journal.commit(record, {Name("s"): StreamState(position=Position(mark))}, {})
    position = journal.load("s").position
    assert position == Position(mark, {"x", "y"})
    assert type(position.mark) is type(mark)


@pytest.mark.parametrize("mark", [None, 12])
def test_the_mark_of_an_old_home_is_a_number_or_nothing(mark: int | None):
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute(
        "CREATE TABLE streams (stream TEXT PRIMARY KEY, tick INTEGER, newest_us INTEGER,"
        " watermark_us INTEGER, high INTEGER, version TEXT, rows_in INTEGER, rows_late INTEGER,"
        " rows_malformed INTEGER)"
    )
    version = json.dumps({"pieces": {}, "complete_from": {}})
    row = ("s", 1, None, None, mark, version, 0, 0, 0)
    connection.execute(f"INSERT INTO streams VALUES ({', '.join('?' * len(row))})", row)
    journal = Journal(connection)
    assert journal.load("s").position == Position(mark)
    later = StreamState(position=Position({"next": 5}))
    journal.commit(TickRecord("s", 2, 1, 0, Register()), {Name("s"): later}, {})
    assert journal.load("s").position == Position({"next": 5})
