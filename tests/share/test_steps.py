"""The optimiser's steps: one tuple with names and sentences, an off switch for each."""

from __future__ import annotations

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
    `covers` nothing where cells are kept per predicate."""
    offs = ("", *OPTIMISER_STEPS, "slices, predicates", "routing, covers")
    assert {off: shape(arranged(off)) for off in offs} == {
        "": (4, 4, 2, 1),
        "slices": (4, 4, 2, 1),
        "predicates": (7, 3, 2, 1),
        "routing": (4, 2, 2, 1),
        "weave": (4, 4, 2, 1),
        "covers": (4, 4, 2, 1),
        "group_by_tree": (4, 4, 4, 1),
        "grouping_sets": (4, 4, 2, 2),
        "slices, predicates": (8, 3, 3, 1),
        "routing, covers": (4, 3, 2, 1),
    }


def test_weaving_is_what_parts_windows_in_the_modes_that_weave() -> None:
    assert shape(arranged(sharing="triweave"))[0] > shape(arranged("weave", "triweave"))[0]


def test_a_step_that_is_off_never_makes_the_plan_cheaper() -> None:
    best = arranged().seconds
    assert all(arranged(off).seconds >= best * 0.999 for off in OPTIMISER_STEPS)
