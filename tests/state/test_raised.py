"""Counts of what raised: kept as text between processes and releases, read for one query."""

from __future__ import annotations

import json
from dataclasses import asdict

from tidemill.language.names import Name
from tidemill.plan.expressions import Slot
from tidemill.plan.predicates import ALL_ROWS, Reading, Term
from tidemill.plan.relation import Source
from tidemill.scan.contract import FoldReport, read_report
from tidemill.state.raised import RaisedTable, restated
from tidemill.state.synopsis import Synopsis
from tidemill.types import TIMESTAMP

SYNOPSIS = Synopsis("s1", Source(Name("s"), (Slot("ts", TIMESTAMP),)), ())
COUNTS = {"s1 1 n + n": 2, "s1 3 n + n": 5, "s1 0 n + n": 1, "s1 1 a / b": 7, "s2 1 n + n": 9}


def test_a_query_is_charged_with_the_rows_that_it_reads():
    report = FoldReport(raised={"n + n": 17, "a / b": 7}, raised_by_signature=COUNTS)
    again = read_report(json.loads(json.dumps(asdict(report))))
    assert again == report
    table = RaisedTable(again.raised_by_signature)
    assert table.of_query(SYNOPSIS, ALL_ROWS, ["n + n"]) == 8
    assert table.of_query(SYNOPSIS, Reading((Term(1),)), ["n + n"]) == 7
    assert table.of_query(SYNOPSIS, Reading((Term(1, 2),)), ["n + n", "a / b"]) == 9
    assert table.of_query(SYNOPSIS, ALL_ROWS, ["n * n"]) == 0


def test_an_earlier_release_has_not_told_the_rows_apart():
    raw = asdict(FoldReport(raised={"n+n": 4}))
    del raw["raised_by_signature"]
    counts = restated(read_report(raw).raised_by_signature, lambda text: text.replace("+", " + "))
    table = RaisedTable(counts)
    assert table.of_query(SYNOPSIS, Reading((Term(1),)), ["n + n"]) == 4


def test_without_conditions_there_are_no_words():
    table = RaisedTable({"s1  n + n": 3})
    assert table.of_query(SYNOPSIS, ALL_ROWS, ["n + n"]) == 3
