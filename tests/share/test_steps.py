"""The optimiser's steps: one tuple with names and sentences, an off switch for each."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.share.goldens import check
from tests.share.plans import PACKETS, bound, packets_sample, planned
from tidemill.explain.shared import explain_shared
from tidemill.explain.stream_model import Arrangement
from tidemill.settings import OPTIMISER_STEPS, SHARING_MODES, Settings
from tidemill.share.optimiser import SHARING_STEPS

SCRIPT = """
CREATE QUERY bytes AS
SELECT src, SUM(length) AS v FROM packets [RANGE 60 SECONDS SLIDE 10 SECONDS] GROUP BY src;
CREATE QUERY means AS
SELECT src, AVG(length) AS v FROM packets [RANGE 45 SECONDS SLIDE 15 SECONDS] GROUP BY src;
CREATE QUERY plain AS
SELECT src, COUNT(*) AS v FROM packets [RANGE 60 SECONDS SLIDE 15 SECONDS]
WHERE port = 80 GROUP BY src;
CREATE QUERY secure AS
SELECT src, COUNT(*) AS v FROM packets [RANGE 60 SECONDS SLIDE 15 SECONDS]
WHERE port = 443 GROUP BY src;
CREATE QUERY web AS
SELECT src, COUNT(*) AS v FROM packets [RANGE 30 SECONDS SLIDE 10 SECONDS]
WHERE port IN (80, 443) GROUP BY src;
CREATE QUERY services AS
SELECT proto, port, COUNT(*) AS v FROM packets [RANGE 60 SECONDS SLIDE 20 SECONDS]
GROUP BY proto, port;
CREATE QUERY protocols AS
SELECT proto, COUNT(*) AS v FROM packets [RANGE 60 SECONDS SLIDE 20 SECONDS] GROUP BY proto;
CREATE QUERY receivers AS
SELECT dst, MAX(length) AS v FROM packets [RANGE 5 SECONDS SLIDE 1 SECOND] GROUP BY dst;
"""
QUERIES = bound(PACKETS + SCRIPT)
SAMPLE = packets_sample(QUERIES)


def arranged(off: str = "", sharing: str = "auto") -> Arrangement:
    settings = Settings(sharing=sharing).with_value("steps_off", off)
    return planned(QUERIES, SAMPLE, settings)


def shape(found: Arrangement) -> tuple[int, int, int, int]:
    """Synopses, their bits, feeds and passes."""
    bits = sum(len(synopsis.bits) for synopsis in found.synopses)
    return len(found.synopses), bits, len(found.feeds), len(found.passes)


def test_settings_name_the_steps_in_their_order() -> None:
    assert tuple(step.name for step in SHARING_STEPS) == OPTIMISER_STEPS
    assert all(step.sentence for step in SHARING_STEPS)


@pytest.mark.parametrize("off", ["", *OPTIMISER_STEPS, "slices, predicates", "routing, covers"])
def test_a_plan_reads_as_its_golden_without_a_step(off: str, update_goldens: bool) -> None:
    name = f"without_{off.replace(', ', '_and_')}" if off else "all_steps"
    check(f"steps/{name}.txt", explain_shared([arranged(off)]), update_goldens)


@pytest.mark.parametrize("sharing", SHARING_MODES)
def test_a_plan_reads_as_its_golden_in_each_mode(sharing: str, update_goldens: bool) -> None:
    check(f"modes/{sharing}.txt", explain_shared([arranged(sharing=sharing)]), update_goldens)


def test_what_each_step_is_for() -> None:
    """`slices` changes nothing while `predicates` puts equal predicates together too, and
    `routing` nothing where few conditions hold together: each has its costs in every tick."""
    offs = ("", *OPTIMISER_STEPS, "slices, predicates", "routing, covers")
    assert {off: shape(arranged(off)) for off in offs} == {
        "": (4, 2, 2, 1),
        "slices": (4, 2, 2, 1),
        "predicates": (7, 3, 3, 1),
        "routing": (4, 2, 2, 1),
        "weave": (4, 2, 2, 1),
        "covers": (4, 3, 2, 1),
        "group_by_tree": (4, 2, 4, 1),
        "grouping_sets": (4, 2, 2, 2),
        "slices, predicates": (8, 3, 3, 1),
        "routing, covers": (4, 3, 2, 1),
    }


def test_weaving_is_what_parts_windows_in_the_modes_that_weave() -> None:
    assert shape(arranged(sharing="triweave"))[0] > shape(arranged("weave", "triweave"))[0]


@pytest.mark.parametrize("seed", range(12))
def test_auto_never_costs_more_than_any_other_mode(seed: int) -> None:
    """Random windows, conditions, keys and aggregates, in long ticks and in short ones."""
    dice = random.Random(seed)
    rate = SAMPLE.rows_per_second
    queries = bound(PACKETS + "\n".join(random_query(dice, n) for n in range(10)))
    sample = packets_sample(queries)
    for tick_seconds in (0.5, 10.0, 120.0):
        ticks = replace(sample, rows_per_tick=rate * tick_seconds)
        seconds = {
            mode: planned(queries, ticks, Settings(sharing=mode)).seconds for mode in SHARING_MODES
        }
        assert len({round(each, 6) for each in seconds.values()}) > 1
        assert seconds["auto"] <= min(seconds.values()) * (1 + 1e-9)


def random_query(dice: random.Random, number: int) -> str:
    item = dice.choice(("SUM(length)", "MAX(length)", "MEDIAN(length)", "STDDEV(length)"))
    window = f"RANGE {dice.choice((5, 30, 300, 1800))} SECONDS SLIDE {dice.choice((1, 5, 60))}"
    where = dice.choice(("", "", "WHERE port = 80", "WHERE length > 500"))
    keys = dice.choice(("src", "src", "proto"))
    return (
        f"CREATE QUERY r{number} AS SELECT {keys}, {item} AS v FROM packets [{window} SECONDS] "
        f"{where} GROUP BY {keys};"
    )


LONG_AND_SHORT = "".join(
    f"CREATE QUERY {name} AS SELECT src, MEDIAN(length) AS v FROM packets "
    f"[RANGE {window} SECONDS] GROUP BY src;\n"
    for name, window in {
        "pulse": "10 SECONDS SLIDE 1",
        "half_hour": "30 MINUTES SLIDE 60",
        "hour": "1 HOUR SLIDE 60",
    }.items()
)


def test_long_windows_are_kept_apart_from_those_that_slide_often(update_goldens: bool) -> None:
    """The same, read once a second; with ticks as long as the windows nothing is to be saved."""
    queries = bound(PACKETS + LONG_AND_SHORT)
    sample = packets_sample(queries)
    live = planned(queries, replace(sample, rows_per_tick=sample.rows_per_second))
    assert {len(live.readers(synopsis)) for synopsis in live.synopses} == {1, 2}
    assert live.seconds < live.seconds_together
    assert len(live.feeds) == 1  # one sub-aggregation feeds both
    check("windows/kept_apart.txt", explain_shared([live]), update_goldens)
    whole = planned(queries, replace(sample, rows_per_tick=36_000 * sample.rows_per_second))
    assert len(whole.synopses) == 1


def test_a_step_that_is_off_never_makes_the_plan_cheaper() -> None:
    best = arranged().seconds
    assert all(arranged(off).seconds >= best * 0.999 for off in OPTIMISER_STEPS)
