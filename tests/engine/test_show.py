"""SHOW and DESCRIBE as values: counts are numbers, windows have lengths, names are lists."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.aggregates.broken import text_of
from tidemill.aggregates.functions import BUILT_IN
from tidemill.catalog import Catalog
from tidemill.engine.register.script import apply_script
from tidemill.engine.show import StreamOf, describe, queries_table, show
from tidemill.engine.tick.journal import QueryState
from tidemill.engine.waits.queries import Wait
from tidemill.errors import TidemillError
from tidemill.explain.replies import Message, ReplyTable
from tidemill.language.names import Name
from tidemill.plan.bind.environment import Environment
from tidemill.plan.bind.streams import bound_stream

SCRIPT = """
SET tick_rows = 500;
CREATE STREAM s (ts TIMESTAMP, k STRING, m INT) ORDER BY ts SOURCE 'parquet:in';
CREATE STREAM long AS SELECT k, ts AS at, m * 2 AS twice FROM s WHERE m > 3;
CREATE TABLE owners (ok STRING, owner STRING) SOURCE 'csv:owners.csv';
CREATE SINK out TO 'discard:';
CREATE AGGREGATE added SOURCE 'python:added.py';
CREATE QUERY rests AS SELECT COUNT(*) AS n FROM s [RANGE 1 MINUTE];
CREATE QUERY joined INTO out AS SELECT owner, SUM(m) AS total
  FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] JOIN owners ON k = ok GROUP BY owner;
PAUSE QUERY rests;
"""
AFTER_WINDOW = "into  answers  raised  waits for"
LINE_AFTER_WINDOW = "────  ───────  ──────  ──────────────────────────"
STATES = {"joined": QueryState(answers=1200, raised=3, user_error="ZeroDivisionError")}


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    (tmp_path / "added.py").write_text(text_of())
    ignore = lambda *_: None  # noqa: E731
    binding = cast(Any, SimpleNamespace(check=ignore))
    silent = lambda *_: Message("")  # noqa: E731
    return apply_script(SCRIPT, tmp_path, Catalog(), binding, silent, ignore)[0]


def branch(catalog: Catalog) -> StreamOf:
    return partial(bound_stream, catalog=catalog, environment=Environment(BUILT_IN))


NO_STREAM = branch(Catalog())


def column(reply: ReplyTable, name: str) -> list[object]:
    place = list(reply.columns).index(name)
    return [row[place] for row in reply.to_dict()["rows"]]


def test_queries_have_counts_and_windows(catalog: Catalog) -> None:
    waits = {Name("joined"): Wait(Name("S"), 7_500_000)}
    reply = queries_table(catalog, STATES, waits)
    assert column(reply, "query") == ["rests", "joined"]
    assert column(reply, "state") == ["paused", "running"]
    assert column(reply, "from") == [["s"], ["s", "owners"]]
    assert column(reply, "into") == [None, "out"]
    assert column(reply, "answers") == [0, 1200]
    assert column(reply, "raised") == [0, 3]
    assert column(reply, "window") == [
        {
            "text": "[RANGE 1 MINUTE]",
            "ranges_us": [60_000_000],
            "slide_us": 0,
            "start_us": 0,
            "is_soft": True,
        },
        {
            "text": "[RANGE 20 SECONDS SLIDE 5 SECONDS]",
            "ranges_us": [20_000_000],
            "slide_us": 5_000_000,
            "start_us": 0,
            "is_soft": False,
        },
    ]
    assert str(reply).splitlines() == [
        f"query   state    from       window                              {AFTER_WINDOW}",
        f"──────  ───────  ─────────  ──────────────────────────────────  {LINE_AFTER_WINDOW}",
        "rests   paused   s          [RANGE 1 MINUTE]                          0        0",
        "joined  running  s, owners  [RANGE 20 SECONDS SLIDE 5 SECONDS]  out   1200     3"
        "       S at 1970-01-01 00:00:07.5",
    ]
    assert column(reply, "waits for") == [None, {"source": "S", "until_us": 7_500_000}]


def test_why_a_query_was_stopped_follows_the_table(catalog: Catalog) -> None:
    reply = queries_table(catalog.stopping({"joined": "it takes too much"}), STATES, {})
    assert column(reply, "state") == ["paused", "stopped"]
    assert reply.notes == ("it takes too much",)
    assert str(reply).endswith("\n\nit takes too much")


def test_the_other_kinds(catalog: Catalog, tmp_path: Path) -> None:
    assert show("STREAMS", catalog, branch(catalog)).rows == (
        ("s", "ts", f"parquet:{tmp_path}/in"),
        ("long", "at", "stream s"),
    )
    assert column(show("TABLES", catalog, branch(catalog)), "columns") == [["ok", "owner"]]
    assert show("SINKS", catalog, branch(catalog)).rows == (("out", "discard:"),)
    settings = show("SETTINGS", catalog, branch(catalog))
    assert dict(settings.rows)["tick_rows"] == 500
    aggregates = show("AGGREGATES", catalog, branch(catalog))
    assert aggregates.rows[-1][0] == "added"
    assert aggregates.rows[-1][-1] == "added.py"


def test_a_description_is_a_statement_with_remarks(catalog: Catalog) -> None:
    reply = describe("JOINED", catalog, STATES, branch(catalog))
    assert (reply.kind, reply.name) == ("query", "joined")
    assert reply.remarks == ("the first that raised: ZeroDivisionError",)
    assert str(reply) == f"{reply.statement};\n-- the first that raised: ZeroDivisionError"
    derived = describe("long", catalog, STATES, branch(catalog))
    assert derived.statement.endswith("SELECT k, ts AS at, m * 2 AS twice\nFROM s\nWHERE m > 3")
    assert derived.remarks == (
        "columns: k STRING, at TIMESTAMP, twice INT",
        "ordered by at; its rows are those of stream s",
    )
    written = describe("added", catalog, STATES, branch(catalog))
    assert written.remarks[0].startswith("called as broken(")
    assert list(written.remarks[2:]) == text_of().splitlines()


def test_a_name_that_nothing_has(catalog: Catalog) -> None:
    with pytest.raises(TidemillError) as refusal:
        describe("joint", catalog, {}, branch(catalog))
    assert refusal.value.code == "E_UNKNOWN_NAME"
    assert refusal.value.problem.hint == "did you mean 'joined'?"
