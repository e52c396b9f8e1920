"""The whole shared path against the plain twin, without Spark.

Compared: answers of random queries with different conditions, keys, windows and aggregates,
planned together in any sharing mode, fed from partial rows that travel through the fold and
through files over several ticks, with the answers of `reference.answers` over the raw rows.
This catches plans, readings, roll-ups, slices, lanes, encodings, merging, kernels and
finishing gone wrong. It cannot catch a wrong lift or a wrong signature: those are made here
by plain Python, where Catalyst makes them in earnest.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.laws.lifting import passes
from tests.laws.mill import Mill
from tests.laws.queries import (
    EPOCHS,
    Asked,
    plan_of,
    random_queries,
    random_row,
    random_sample,
    random_settings,
    same_answers,
)
from tidemill.answer import shapes
from tidemill.answer.answering import answer
from tidemill.answer.request import CARRY, COUNT, Evaluations, QueryBatch, WindowRequest
from tidemill.reference.answers import AcceptedRow
from tidemill.schedule import Specs, due_windows
from tidemill.settings import SHARING_MODES, Settings
from tidemill.share import specs_of
from tidemill.state.pieces import read_bucket
from tidemill.windows import BEGINNING_US

SEEDS = 110


def everything(_row: object) -> bool:
    return True


def run_mill(mill: Mill, asked: list[Asked], parts: list[list[AcceptedRow]]) -> None:
    mill.change(asked)
    for rows in parts:
        mill.tick(rows)
    mill.tick([], flush=True)


def note_choices(mill: Mill, seen: Counter[str]) -> None:
    """What the plan came to, so that the law is known to have been tried on all of it."""
    feeds, queries = mill.feeds, mill.plan.queries
    readings = [stint.reading for query in queries for stint in mill.plan.stints[query.name]]
    bits = sum(len(synopsis.bits) for synopsis in mill.plan.synopses)
    seen["roll-up"] += any(len(feed.nodes) > 1 for feed in feeds)
    seen["roll-up to one of several keys"] += any(
        node.keys and number for feed in feeds for number, node in enumerate(feed.nodes)
    )
    seen["grouping sets"] += any(len(one) > 1 for one in passes(feeds))
    seen["separate passes"] += len(passes(feeds)) > 1
    seen["several predicates in one synopsis"] += any(len(s.bits) > 1 for s in mill.plan.synopses)
    seen["a predicate read from others"] += any(
        reading.bits and (len(reading.bits) > 1 or len(reading.terms) > 1) for reading in readings
    )
    seen["rows without a bit are kept beside bits"] += any(
        s.bits and s.all_since_us is not None for s in mill.plan.synopses
    )
    seen["cells per predicate"] += any(s.routed for s in mill.plan.synopses)
    seen["one synopsis, several queries"] += len(mill.plan.synopses) < len(queries)
    seen["equal predicates share a bit"] += bits < sum(q.where is not None for q in queries)
    seen["snapshot"] += mill.snapshots > 0
    seen[mill.settings.sharing] += 1


CHOICES = (
    "roll-up",
    "roll-up to one of several keys",
    "grouping sets",
    "separate passes",
    "several predicates in one synopsis",
    "a predicate read from others",
    "rows without a bit are kept beside bits",
    "cells per predicate",
    "one synopsis, several queries",
    "equal predicates share a bit",
    "snapshot",
    "answer rows",
    *SHARING_MODES,
)


def test_answers_equal_the_plain_twin(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        try_law(random.Random(seed), tmp_path / str(seed), seen)
    assert {choice for choice in CHOICES if not seen[choice]} == set()
    assert seen["answer rows"] > 30 * SEEDS


def try_law(rng: random.Random, folder: Path, seen: Counter[str]) -> None:
    asked = random_queries(rng, rng.choice((1, 2, 6, 8)))
    epoch, ticks = rng.choice(EPOCHS), rng.randrange(1, 5)
    times = [epoch + rng.randrange(200_000) for _ in range(rng.choice((0, 30, 40, 40)))]
    rows = [random_row(rng, time_us) for time_us in times]
    # So late is allowed that nothing is; disorder is the next law's.
    mill = Mill(
        folder,
        random_settings(rng),
        random_sample(rng),
        buckets=rng.randrange(1, 4),
        lateness_us=10**6,
        in_panes=rng.random() < 0.5,
    )
    run_mill(mill, asked, [rows[tick::ticks] for tick in range(ticks)])
    for one in asked:
        wanted = one.reference(rows)
        same_answers(one.plan, mill.kept.answers.get(one.plan.name, []), wanted)
        seen["answer rows"] += len(wanted)
    note_choices(mill, seen)


def test_the_comparison_has_something_to_compare(tmp_path: Path) -> None:
    plan = plan_of(0, "SELECT k, SUM(big) AS a FROM s [RANGE 9 ms SLIDE 4 ms] GROUP BY k")
    rows = [AcceptedRow(t, {"k": "a", "big": t}) for t in range(0, 40_000, 1_000)]
    mill = Mill(tmp_path)
    run_mill(mill, [Asked(plan, everything)], [rows[:15], rows[15:]])
    found = mill.kept.answers["q0"]
    assert len(found) == 12
    assert (8_000, 17_000, ("a", sum(range(8_000, 17_000, 1_000)))) in found


def test_equal_windows_are_worked_out_once_and_constants_are_lifted(tmp_path: Path) -> None:
    """Six queries of one shape; their windows meet at multiples of 12, their constants differ."""
    tail = "FROM s [RANGE 12 ms SLIDE {} ms] GROUP BY k HAVING SUM(n) > {} ORDER BY c LIMIT {}"
    cases = [(4, 10, 2), (6, 10, 1), (12, 10, 3), (4, 99, 2), (6, 1000, 2), (4, 10, 1)]
    plans = [
        plan_of(number, "SELECT k, COUNT(*) AS c " + tail.format(*case))
        for number, case in enumerate(cases)
    ]
    rows = [AcceptedRow(t * 1_000, {"k": "abc"[t % 3], "n": t}) for t in range(60)]
    assert len({shapes.lift(plan).shape for plan in plans}) == 1
    request = request_of(plans, np.arange(0, 60_000, 2_000))
    evaluations = Evaluations.of(request)
    bounds = set(zip(request.starts.tolist(), request.ends.tolist(), strict=True))
    # Constants 10, 99 and 1000: the first at every window, the others at those of one query.
    by_slide = {
        slide: sum(1 for start, _ in bounds if start % slide == 0) for slide in (4_000, 6_000)
    }
    assert len(evaluations) == len(bounds) + by_slide[4_000] + by_slide[6_000] < len(request.starts)
    mill = Mill(tmp_path, Settings(sharing="shared"))
    queries = [Asked(plan, everything) for plan in plans]
    run_mill(mill, queries, [rows[:20], rows[20:40], rows[40:]])
    assert len(mill.plan.synopses) == 1
    for one in queries:
        same_answers(one.plan, mill.kept.answers.get(one.plan.name, []), one.reference(rows))
    assert mill.kept.answers["q0"]


def test_counting_gives_the_numbers_of_rows_and_errors(tmp_path: Path) -> None:
    """`wants_rows=False` says of each query what its rows would have said."""
    plans = [
        plan_of(
            number,
            f"SELECT k, SUM(big) AS a, COUNT(*) / (COUNT(n) - {number}) AS b "
            "FROM s [RANGE 8 ms SLIDE 4 ms] GROUP BY k",
        )
        for number in range(3)
    ]
    big = [2**62 if t < 20 else 1 for t in range(60)]
    rows = [
        AcceptedRow(t * 500, {"k": "ab"[t % 2], "n": t % 5 or None, "big": big[t]})
        for t in range(60)
    ]
    mill = Mill(tmp_path, buckets=1, lateness_us=10**6)
    mill.change([Asked(plan, everything) for plan in plans])
    mill.tick(rows)
    (synopsis,) = mill.plan.synopses
    (piece,) = mill.version.of(synopsis.id)
    folder = tmp_path / "synopses" / synopsis.id
    cells = read_bucket(folder, synopsis, piece, 0, BEGINNING_US, 2**62)
    request = request_of(plans, cells.slices)
    (kept,), (counted,) = (
        answer(synopsis, cells, [replace(request, batch=replace(request.batch, delivery=way))])
        for way in (CARRY, COUNT)
    )
    assert counted.rows is None
    assert counted.counts.tolist() == kept.counts.tolist() == [18, 18, 18]
    assert counted.raised.tolist() == kept.raised.tolist()
    assert kept.rows is not None
    assert 0 < min(kept.raised) < max(kept.raised) <= 18


def request_of(plans: list[Any], slices: np.ndarray[Any, Any]) -> WindowRequest:
    """Every window that is due of each query, all of one shape."""
    windows = [
        (owner, run.first_us + step * spec.slide_us, spec.range_us)
        for owner, plan in enumerate(plans)
        for spec in specs_of(plan)
        for run in due_windows(Specs.of([spec]), slices, None, 2**62)[0]
        for step in range(run.windows)
    ]
    owner, starts, lengths = np.array(windows, dtype=np.int64).reshape(-1, 3).T
    batch = QueryBatch.of([shapes.lift(plan) for plan in plans])
    return WindowRequest(batch, owner, starts, starts + lengths)
