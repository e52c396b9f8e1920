"""Queries come, go, change and move between ticks, and every window is answered once and right.

    ticks      |  1  |  2  |  3  | …          rows, some of them late
    between    |     ^     ^     ^            add, drop, alter, pause, resume, rebuild, retire,
                                              another rate

Compared: what each query was given, with the plain twin over all accepted rows, from the
query's announced first window to the last that closed before its drop, without those that
closed while it was paused. Pieces expire and are compacted as in the engine. Rows are
admitted as the engine does it; that this is right is for the stories on Spark to say.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

import pytest

from tests.laws.conditions import compared
from tests.laws.mill import Mill
from tests.laws.queries import (
    EPOCHS,
    KEYS,
    STREAM,
    Asked,
    plan_of,
    random_machine,
    random_queries,
    random_row,
    random_sample,
    random_settings,
    same_answers,
)
from tidemill.reference.answers import AcceptedRow, ReferenceAnswer
from tidemill.settings import Settings
from tidemill.share import SharedPlan, first_window, specs_of
from tidemill.windows import BEGINNING_US

SEEDS = 24
WOVEN_SEEDS = 12  # in each of three modes
CHANGES = (
    "edges that have changed",
    "a newcomer starts at once from slices that are there",
    "a newcomer waits for its first full window",
    "a query moves to another synopsis",
    "a window answered by the synopsis it was moved from",
    "pause",
    "alter",
    "drop",
    "late",
    "snapshot",
    "retire",
    "lanes that came later",
    "cells per predicate",
    "another range of rates",
    "back in a range of rates",
)
WOVEN_CHANGES = (
    "drop",
    "a query moves to another synopsis",
    "a window answered by the synopsis it was moved from",
    "another range of rates",
    "groups merge",
    "groups part",
    "several groups of one set of keys",
)


# The synopsis of each query's newest windows.
Groups = dict[str, str]


@dataclass
class Life:
    """One query from its announcement to its end; an altered one begins another life."""

    asked: Asked
    first_us: dict[int, int]  # start of its first window, by length
    until_us: int | None = None  # the watermark at its end
    skipped: list[tuple[int, int]] = field(default_factory=list)  # watermarks around pauses
    got: list[ReferenceAnswer] = field(default_factory=list)

    def expects(self, start_us: int, end_us: int) -> bool:
        if start_us < self.first_us[end_us - start_us]:
            return False
        if self.until_us is not None and end_us > self.until_us:
            return False
        return not any(low < end_us <= high for low, high in self.skipped)


class Story:
    """A mill with queries that change."""

    def __init__(
        self, rng: random.Random, folder: Path, seen: Counter[str], sharing: str | None = None
    ) -> None:
        self.rng, self.seen, settings = rng, seen, random_settings(rng)
        self.mill = Mill(
            folder,
            settings if sharing is None else replace(settings, sharing=sharing, steps_off=""),
            random_sample(rng),
            random_machine(rng),
            buckets=rng.randrange(1, 3),
            lateness_us=rng.choice((0, 5_000, 30_000)),
            in_panes=rng.random() < 0.5,
        )
        # In half of the stories keys are alike and nobody is moved, so that all share for long.
        self.is_calm = sharing is not None or rng.random() < 0.5
        self.waiting = random_queries(rng, 24, [rng.choice(KEYS)] if self.is_calm else KEYS)
        self.living: dict[str, Life] = {}
        self.dead: list[Life] = []

    def change(self) -> None:
        """Some queries come and some go, in one statement."""
        rng, before = self.rng, dict(self.living)
        leaving = [n for n in self.living if rng.random() < (0.35 if self.is_calm else 0.2)]
        for name in leaving[1:] if self.is_calm else leaving:
            self._end(name)
            self.seen["drop"] += 1
        fresh = [self.waiting.pop() for _ in range(min(rng.randrange(4), len(self.waiting)))]
        if self.living and self.waiting and rng.random() < 0.4:
            name = rng.choice(sorted(self.living))
            self._end(name)
            fresh.append(self.waiting.pop().named(name))
            self.seen["alter"] += 1
        standing = [life.asked for name, life in before.items() if self.living.get(name) is life]
        self._adopt([*standing, *fresh], fresh)

    def _adopt(self, asked: list[Asked], fresh: list[Asked]) -> None:
        mill, (standing, _) = self.mill, self.mill.around("s")
        groups = by_synopsis(mill.plan)
        mill.change(asked)
        self._note_groups(groups, by_synopsis(mill.plan))
        for one in fresh:
            stint = mill.plan.stints[one.plan.name][0]
            first = {
                spec.range_us: first_window(spec, stint.from_us, standing.watermark_us)
                for spec in specs_of(one.plan)
            }
            self.living[one.plan.name] = Life(one, first)
            if standing.newest_us is not None:
                at_once = min(first.values()) <= standing.newest_us
                self.seen["a newcomer starts at once from slices that are there"] += at_once
                self.seen["a newcomer waits for its first full window"] += not at_once
        mill.paused &= frozenset(name.lower() for name in self.living)

    def _end(self, name: str) -> None:
        life = self.living.pop(name)
        watermark_us = self.mill.time.watermark_us
        life.until_us = BEGINNING_US if watermark_us is None else watermark_us
        self.dead.append(life)

    def pause_or_resume(self) -> None:
        if self.living:
            name = self.rng.choice(sorted(self.living))
            self.mill.paused ^= {name.lower()}
            self.seen["pause"] += 1

    def rebuild(self) -> None:
        if not self.is_calm:
            self.mill.rebuild()

    def swing(self) -> None:
        """Rows come faster or slower from now on."""
        mill, before = self.mill, self.mill.plan.rates.get(STREAM.key)
        if not mill.plan.queries:
            return
        groups = by_synopsis(mill.plan)
        mill.follow(10.0 ** self.rng.choice((1, 3, 5)))
        self._note_groups(groups, by_synopsis(mill.plan))
        now = mill.plan.rates[STREAM.key]
        if before is not None and now.band != before.band:
            self.seen["another range of rates"] += 1
            known = {other.band for other in before.others}
            self.seen["back in a range of rates"] += now.band in known

    def retire(self) -> None:
        before = self.mill.plan
        self.mill.retire()
        self.seen["retire"] += self.mill.plan is not before

    def tick(self, rows: list[AcceptedRow], flush: bool = False) -> None:
        mill, before = self.mill, self.mill.time.watermark_us
        accepted = len(mill.accepted)
        mill.tick(rows, flush)
        self.seen["late"] += accepted + len(rows) > len(mill.accepted)
        for name, life in self.living.items():
            got = mill.kept.answers.pop(name, [])
            life.got += got
            if name.lower() in mill.paused:
                assert not got
                low = BEGINNING_US if before is None else before
                life.skipped.append((low, mill.time.watermark_us or low))
            self._note_moves(mill.plan, life, got)
        assert not mill.kept.answers, "answers of a query that is not there"
        self._note_plan()

    def _note_groups(self, before: Groups, after: Groups) -> None:
        """Queries that stood apart, or together, and do not any more."""
        for query, other in combinations(before.keys() & after.keys(), 2):
            together = before[query] == before[other], after[query] == after[other]
            self.seen["groups merge"] += together == (False, True)
            self.seen["groups part"] += together == (True, False)

    def _note_moves(self, plan: SharedPlan, life: Life, got: list[ReferenceAnswer]) -> None:
        stints = plan.stints[life.asked.plan.name]
        self.seen["a query moves to another synopsis"] += len(stints) > 1
        moved_us = stints[-1].from_us
        self.seen["a window answered by the synopsis it was moved from"] += any(
            start < moved_us for start, _, _ in got
        )

    def _note_plan(self) -> None:
        live = {key: self.mill.plan.synopsis(key) for key in by_synopsis(self.mill.plan).values()}
        keys = Counter(synopsis.key_text for synopsis in live.values())
        self.seen["several groups of one set of keys"] += max(keys.values(), default=0) > 1
        for synopsis in self.mill.plan.synopses:
            self.seen["edges that have changed"] += any(
                len(cuts.cuts) > 1 for cuts in synopsis.all_cuts
            )
            self.seen["cells per predicate"] += synopsis.routed
            self.seen["lanes that came later"] += any(
                kept.since_us > synopsis.made_us for kept in synopsis.kept_lanes
            )
        self.seen["snapshot"] = max(self.seen["snapshot"], self.mill.snapshots)

    def check(self) -> None:
        # A flush closes what is due; a query that is paused then has nothing due.
        for name in [*self.living]:
            self._end(name)
        for life in self.dead:
            whole = life.asked.reference(self.mill.accepted)
            wanted = [row for row in whole if life.expects(row[0], row[1])]
            same_answers(life.asked.plan, life.got, wanted)
            self.seen["answer rows"] += len(wanted)


def by_synopsis(plan: SharedPlan) -> Groups:
    return {query: stints[-1].synopsis_id for query, stints in plan.stints.items()}


def live(rng: random.Random, folder: Path, seen: Counter[str], sharing: str | None = None) -> None:
    story = Story(rng, folder, seen, sharing)
    now_us = rng.choice(EPOCHS)
    story.change()
    for _ in range(14):
        rows = []
        for _ in range(rng.choice((0, 3, 8))):
            now_us += rng.choice((0, 500, 4_000, 9_000))
            rows.append(random_row(rng, now_us - rng.choice((0, 0, 2_000, 20_000))))
        if story.living:
            story.tick(rows)
        for _ in range(rng.randrange(3)):
            rng.choice(
                (
                    *(story.change, story.change, story.change, story.pause_or_resume),
                    *(story.rebuild, story.retire, story.swing),
                )
            )()
    if story.living:
        story.tick([], flush=True)
    story.check()


def test_changing_queries_loses_doubles_and_changes_no_window(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        live(random.Random(seed), tmp_path / str(seed), seen)
    assert {change for change in CHANGES if not seen[change]} == set()
    assert seen["answer rows"] > 50 * SEEDS


@pytest.mark.parametrize("sharing", ["weave", "triweave", "auto"])
def test_woven_queries_that_change_lose_double_and_change_no_window(
    tmp_path: Path, sharing: str
) -> None:
    seen: Counter[str] = Counter()
    for seed in range(WOVEN_SEEDS):
        live(random.Random(100 + seed), tmp_path / str(seed), seen, sharing)
    changes = WOVEN_CHANGES if sharing != "auto" else WOVEN_CHANGES[:4]
    assert {change for change in changes if not seen[change]} == set()
    assert seen["answer rows"] > 50 * WOVEN_SEEDS


def test_a_bit_is_given_to_another_predicate_once_no_slice_bears_it(tmp_path: Path) -> None:
    """Too early it is blocked; after that, the newcomer does not read what its forerunner left.

    rows      0 ms …        40                        80                     120
    queries   n = 1, n = 0  drop n = 0, add k = 'a'   drop k = 'a', add k = 'b'
    bits      0      1                  2                        1
    """
    tail = "FROM s [RANGE 20 ms SLIDE 10 ms] WHERE {} GROUP BY k"
    conditions = (
        compared("n", "=", 1),
        compared("n", "=", 0),
        compared("k", "=", "a"),
        compared("k", "=", "b"),
    )
    stays, first, second, third = (
        Asked(plan_of(number, f"SELECT k, COUNT(*) AS c {tail.format(c.sql)}"), c.truth)
        for number, c in enumerate(conditions)
    )
    mill = Mill(tmp_path, Settings(sharing="shared"))
    rng = random.Random(1)
    numbers = {}
    for start_us, asked in ((0, first), (40_000, second), (80_000, third)):
        mill.change([stays, asked])
        (synopsis,) = mill.plan.synopses
        numbers[asked.plan.name] = next(
            bit.number for bit in synopsis.bits if bit.predicate == asked.plan.predicate
        )
        mill.tick([random_row(rng, start_us + n * 1_000) for n in range(40)])
    mill.tick([], flush=True)
    assert numbers == {"q1": 1, "q2": 2, "q3": 1}
    same_answers(stays.plan, mill.kept.answers["q0"], stays.reference(mill.accepted))
    for asked, from_us, until_us in ((first, -20_000, 39_000), (third, 80_000, 140_000)):
        wanted = [
            row
            for row in asked.reference(mill.accepted)
            if from_us <= row[0] and row[1] <= until_us
        ]
        assert wanted
        same_answers(asked.plan, mill.kept.answers[asked.plan.name], wanted)
