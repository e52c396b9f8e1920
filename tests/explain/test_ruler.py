"""The drawn schedules: the worked example as a golden, and what may not go wrong at any size."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.schedule.test_hybrid import SEVEN, merges
from tidemill.explain.ruler import MOST_TASKS, WIDTH, ruler, scale
from tidemill.schedule.policies import POLICIES
from tidemill.schedule.soft import Soft

GOLDEN = Path(__file__).parents[1] / "golden" / "schedule" / "seven.txt"


def count(queries: Sequence[Soft]) -> float:
    return len(queries)


def test_the_worked_example_reads_as_its_golden(update_goldens: bool) -> None:
    text = ruler(SEVEN, merges, in_force="hybrid") + "\n"
    if update_goldens:
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("policy", "rate"),
    [("none", 14.97), ("conservative", 11.93), ("hybrid", 11.4), ("aggressive", 14.5)],
)
def test_rates_are_those_of_the_thesis(policy: str, rate: float) -> None:
    assert ruler(SEVEN, merges, [policy]).startswith(f"{policy}: {rate} an update")


def test_many_groups_fit_the_width() -> None:
    rng = random.Random(2)
    queries = [Soft(f"query {n}", rng.choice("abc"), rng.randint(1, 60)) for n in range(150)]
    lines = ruler(queries, count, ["none", "conservative"], unit=" ms").splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert {" a", " b", " c"} < set(lines)
    assert any(line.strip().startswith("and ") for line in lines)
    assert len([line for line in lines if "○" in line or "●" in line]) <= 6 * MOST_TASKS + 1


def test_every_policy_can_be_drawn_and_a_mark_stands_where_the_period_says() -> None:
    text = ruler([Soft("a", "g", 4), Soft("b", "g", 4), Soft("c", "h", 6)], count, list(POLICIES))
    marks = [line[5:] for line in text.splitlines() if line[5:6] in ("○", "●")]
    assert set(marks) == {"○···○···○···○", "○·····○·····○"}
    assert len(marks) == 2 * len(POLICIES)


def test_the_scale_always_tells_its_end() -> None:
    assert scale(1) == "0"
    assert scale(11) == "0         10"
    assert scale(13) == "0           12"
    assert scale(61).split() == ["0", "10", "20", "30", "40", "50", "60"]
