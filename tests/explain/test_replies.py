"""Replies as values: what a program takes from them, and what people read."""

from __future__ import annotations

import json
import math
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tests.share.plans import NETMON, bound, planned
from tidemill.errors import Place, Problem, TidemillError
from tidemill.explain.plain import plain_data
from tidemill.explain.plan import explain_plan
from tidemill.explain.replies import (
    DURATION,
    INTEGER,
    NAMES,
    TEXT,
    WINDOW,
    Description,
    Explanation,
    Message,
    Reply,
    ReplyTable,
    Selection,
    number_as,
)
from tidemill.explain.weaves import weaves_table
from tidemill.language.statements import Window

MINUTE_US = 60_000_000
TIME = pa.timestamp("us", tz="UTC")


def as_json(reply: Reply) -> Any:
    """What a reader of the JSON has in hand; NaN and the like would not be JSON."""
    return json.loads(json.dumps(reply.to_dict(), allow_nan=False))


def test_a_table_has_types_for_programs_and_words_for_people() -> None:
    columns = {"query": TEXT, "from": NAMES, "window": WINDOW, "answers": INTEGER, "late": DURATION}
    window = Window(MINUTE_US, 10_000_000)
    reply = ReplyTable.of(columns, [("q", ("s", "t"), window, 1200, None)], ["q was stopped"])
    assert as_json(reply) == {
        "reply": "table",
        "columns": [
            {"name": "query", "type": "text"},
            {"name": "from", "type": "names"},
            {"name": "window", "type": "window"},
            {"name": "answers", "type": "integer"},
            {"name": "late", "type": "duration_us"},
        ],
        "rows": [
            [
                "q",
                ["s", "t"],
                {
                    "text": "[RANGE 1 MINUTE SLIDE 10 SECONDS]",
                    "ranges_us": [MINUTE_US],
                    "slide_us": 10_000_000,
                    "start_us": 0,
                    "is_soft": False,
                },
                1200,
                None,
            ]
        ],
        "notes": ["q was stopped"],
    }
    assert str(reply) == (
        "query  from  window                             answers  late\n"
        "─────  ────  ─────────────────────────────────  ───────  ────\n"
        "q      s, t  [RANGE 1 MINUTE SLIDE 10 SECONDS]  1200\n\nq was stopped"
    )


def test_a_table_without_rows_says_so() -> None:
    columns = {"share": number_as(".1f")}
    assert str(ReplyTable.of(columns, [])) == "share: none"
    assert str(ReplyTable.of(columns, [], when_empty="nobody shares")) == "nobody shares"
    assert as_json(ReplyTable.of(columns, [], when_empty="nobody shares"))["rows"] == []


def test_a_row_of_another_width_is_no_row() -> None:
    with pytest.raises(ValueError, match="does not fit the columns a, b"):
        ReplyTable.of({"a": TEXT, "b": TEXT}, [("1",)])


def test_an_answer_keeps_its_rows_as_arrow() -> None:
    rows = pa.table(
        {
            "window_start": pa.array([0, 2**60], TIME),
            "day": pa.array([date(2026, 3, 1), None]),
            "total": pa.array([Decimal("1.50"), None]),
            "mean": [0.5, math.inf],
            "top": pa.array([[{"value": "a", "weight": 3}], []]),
        }
    )
    reply = Selection(rows, raised=2)
    assert reply.rows is rows
    assert as_json(reply) == {
        "reply": "answer",
        "columns": [
            {"name": "window_start", "type": "timestamp[us, tz=UTC]"},
            {"name": "day", "type": "date32[day]"},
            {"name": "total", "type": "decimal128(3, 2)"},
            {"name": "mean", "type": "double"},
            {"name": "top", "type": "list<item: struct<value: string, weight: int64>>"},
        ],
        "rows": [
            [
                "1970-01-01T00:00:00.000000Z",
                "2026-03-01",
                "1.50",
                0.5,
                [{"value": "a", "weight": 3}],
            ],
            # Beyond the dates of Python.
            ["38504-08-17T21:30:06.846976Z", None, None, "Infinity", []],
        ],
        "raised": 2,
    }
    assert str(reply).splitlines()[-1] == "2 values raised an error and are NULL"
    assert str(Selection(rows.slice(0, 0))) == "no rows"


def test_the_other_replies() -> None:
    message = Message("query q: its first window starts at noon")
    assert (str(message), as_json(message)) == (
        message.text,
        {"reply": "message", "text": message.text},
    )
    description = Description("query", "q", "CREATE QUERY q AS SELECT 1", ("it raised", ""))
    assert str(description) == "CREATE QUERY q AS SELECT 1;\n-- it raised\n--"
    assert as_json(description)["remarks"] == ["it raised", ""]


def test_an_explanation_holds_the_value_that_it_explains() -> None:
    query = bound(NETMON)[0]
    reply = Explanation("PLAN", (query,), explain_plan(query))
    assert reply.subject[0] is query
    assert str(reply) == explain_plan(query)
    told = as_json(reply)
    assert (told["stage"], told["text"]) == ("PLAN", str(reply))
    assert told["subject"][0]["name"] == query.name
    assert told["subject"][0]["window"]["range_us"] == query.window.range_us


def test_a_shared_plan_of_forty_queries_as_json() -> None:
    arrangement = planned(bound(NETMON))
    told = as_json(Explanation("SHARED", arrangement.plan, ""))["subject"]
    assert told["is"] == "SharedPlan"
    assert [synopsis["id"] for synopsis in told["synopses"]] == [
        synopsis.id for synopsis in arrangement.synopses
    ]
    assert told["stints"].keys() == arrangement.plan.stints.keys()
    weaves = as_json(weaves_table([arrangement]))
    saved = next(row[-1] for row in weaves["rows"] if row[-1])
    assert 0 < saved["share"] < 1
    assert saved["seconds"] > 0


def test_plain_data() -> None:
    assert plain_data({"a": frozenset((2, 1)), 3: Decimal("0.10")}) == {"a": [1, 2], "3": "0.10"}
    assert plain_data((math.nan, -math.inf, b"\x01", None)) == ["NaN", "-Infinity", "01", None]


def test_a_problem_is_plain_too() -> None:
    error = TidemillError(Problem("E_SYNTAX", "no", text="SELECT", place=Place(0, 6)))
    assert json.loads(json.dumps(error.as_dict()))["column"] == 1
