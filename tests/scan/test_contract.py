"""What both routes share: passes, a feed's own bits, and the accounts of a tick."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

from tests.scan.arrays.rows import one_feed, plan_of
from tidemill.plan.predicates import WORD_BITS
from tidemill.scan.contract import (
    COUNTED,
    LATE,
    MALFORMED,
    FoldReport,
    Terms,
    TimeSpan,
    join_spans,
    own_bits,
    passes_of,
    read_report,
)
from tidemill.time import EARLIEST_US, Register

COUNTS = "SELECT k, COUNT(*) AS c FROM s [RANGE 2 s SLIDE 1 s] GROUP BY k"
SUMS = "SELECT n, SUM(big) AS c FROM s [RANGE 3 s SLIDE 1 s] WHERE n > 5 GROUP BY n"


def test_feeds_of_one_scan_are_one_pass() -> None:
    counts, sums = one_feed(plan_of(0, COUNTS)), one_feed(plan_of(1, SUMS))
    first, second = passes_of((*counts, *sums, *counts))
    assert (first.feeds, second.feeds) == ((*counts, *counts), sums)
    assert (first.keeps_all, second.keeps_all) == (True, False)
    assert first.scan == counts[0].scan
    assert passes_of(()) == ()


def test_the_edges_of_a_pass_are_those_of_all_its_feeds() -> None:
    ((feed,), (other,)) = one_feed(plan_of(0, COUNTS)), one_feed(plan_of(1, SUMS))
    both = replace(feed, synopses=(*feed.synopses, *other.synopses))
    (one_pass,) = passes_of((both,))
    assert [c.period_us for c in one_pass.edge_classes(EARLIEST_US)] == [1_000_000]


def test_own_bits_are_a_mask_for_each_word() -> None:
    (feed,) = one_feed(plan_of(0, COUNTS))
    assert own_bits(replace(feed, bits=())) == ()
    assert own_bits(replace(feed, bits=(0, 2))) == (0b101,)
    assert own_bits(replace(feed, bits=(1, WORD_BITS, WORD_BITS + 3))) == (0b10, 0b1001)
    assert own_bits(replace(feed, bits=(2 * WORD_BITS,))) == (0, 0, 1)


def test_before_the_first_watermark_nothing_is_late() -> None:
    assert Terms().since_us == EARLIEST_US
    assert Terms(Register(promised_us=7)).since_us == 7


def test_bounds_come_from_the_arrivals_before() -> None:
    terms = Terms(Register(50, 40), lateness_us=10).settled(["a", "b", "c"], {"a": 70, "c": 90})
    assert terms.bounds == {"a": 40, "b": 60, "c": 60}
    spans = join_spans({"a": TimeSpan(45, 60)}, {"a": TimeSpan(40, 70), "c": TimeSpan(60, 90)})
    assert spans == {"a": TimeSpan(40, 70), "c": TimeSpan(60, 90)}
    assert not terms.misjudged(spans, {})
    assert terms.misjudged({"c": TimeSpan(59, 90)}, {})


def test_tasks_of_a_pass_add_up_and_passes_judge_alike() -> None:
    one = FoldReport(
        rows={COUNTED: 2, LATE: 1}, oldest_us=2, newest_us=5, raised={"x": 1}, scanned_by="columnar"
    )
    two = FoldReport(rows={COUNTED: 3, MALFORMED: 4}, oldest_us=4, newest_us=9, seconds=0.5)
    joined = one.joined(two)
    assert (joined.rows_in, joined.late, joined.malformed) == (10, 1, 4)
    assert (joined.oldest_us, joined.newest_us) == (2, 9)
    beside = one.beside(replace(two, scanned_by="catalyst"))
    assert (beside.rows, beside.scanned_by) == (one.rows, "columnar and catalyst")
    assert FoldReport().beside(one) == one


def test_a_report_comes_back_from_its_json_form() -> None:
    report = FoldReport(rows={COUNTED: 2}, user_errors={"total": "oh"}, scanned_by="columnar")
    raw = json.loads(json.dumps(asdict(report)))
    assert read_report(raw) == report
    raw["told"], raw["route"] = raw.pop("user_errors"), raw.pop("scanned_by")
    assert read_report(raw) == report, "as ticks of earlier versions have it"
