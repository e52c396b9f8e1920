"""The study of schedules: queries are drawn as its page says, and measures are as by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from _schedules.costs import MODELS
from _schedules.measures import Followed
from _schedules.simulation import Span, simulate
from _schedules.study import Scale, study
from _schedules.workload import draw

from tidemill.schedule.policies import POLICIES, policy_tasks
from tidemill.schedule.soft import Soft

SHORT = Span(warm_s=40, measured_s=60)


def test_queries_are_drawn_as_in_the_papers() -> None:
    load = draw(240, 1_000, seed=1)
    assert len({query.group for query in load.queries}) == 8
    for query in load.queries:
        assert 20 <= load.windows[query.name] <= 100
        assert 1 <= query.period <= load.windows[query.name] // 2
    assert 900 < len(load.one_time) < 1_100
    assert draw(40, 1_000, seed=1).queries == load.queries[:40]


def test_measures_of_one_query_by_hand() -> None:
    """Answers of update 0 at 0.5 s and of update 4, asked for at 2, at 6.5 s; measured to 10 s."""
    query = Soft("q", "g", 2)
    followed = Followed([query], from_s=0, until_s=10)
    followed.ran([query], update=0, now_s=0.5)
    followed.ran([query], update=4, now_s=6.5)
    found = followed.measures()
    assert found.executions_per_s == pytest.approx(0.2)
    assert found.useful_per_s == pytest.approx(0.2)
    # On time, four updates late, and at the end another four beyond the two it allows.
    assert found.latency == pytest.approx((0 + 4 + 4) / 3)
    # Age grows from 0 to 6.5, then from 2.5 to 6.
    assert found.staleness_s == pytest.approx((6.5**2 / 2 + (6**2 - 2.5**2) / 2) / 10)


def test_useful_is_capped_at_what_was_asked_for() -> None:
    query = Soft("q", "g", 5)
    followed = Followed([query], from_s=0, until_s=10)
    for update in range(10):
        followed.ran([query], update, update + 0.1)
    found = followed.measures()
    assert (found.executions_per_s, found.useful_per_s, found.latency) == (1.0, 0.2, 0.0)


def nearly_nothing(queries: Sequence[Soft]) -> float:
    return 1e-4 / len(queries)


@pytest.mark.parametrize("policy", POLICIES)
def test_an_idle_machine_is_never_late(policy: str) -> None:
    load = draw(40, SHORT.end_s, seed=2)
    tasks = policy_tasks(POLICIES[policy], load.queries, MODELS["cheap"].cost(load.windows, 1))
    found = simulate(load, POLICIES[policy], tasks, nearly_nothing, SHORT).measures()
    asked = sum(1 / query.period for query in load.queries)
    assert found.latency == 0
    assert found.useful_per_s == pytest.approx(asked, rel=0.06)
    assert found.response_s < 0.02


def test_a_study_is_the_same_each_time_and_overload_shows() -> None:
    scale = Scale((40,), (1,), SHORT)
    rows = list(study(scale, "dear"))
    assert rows == list(study(scale, "dear"))
    high = {row.policy: row.figures for row in rows if row.rate == "high"}
    assert high["none"]["load"][0] > 2
    assert high["none"]["latency"][0] > high["hybrid-late-pending"]["latency"][0] > 0
