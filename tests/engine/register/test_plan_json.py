"""A plan on disk is the plan: JSON there and back, and the store that keeps what has changed."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from tests.engine.register.test_old_plans import nothing_to_bind
from tests.laws.mill import Mill
from tests.laws.queries import random_queries, random_row, random_sample, random_settings
from tidemill.aggregates.lanes import (
    Count,
    Counts,
    First,
    FirstKnown,
    Lane,
    Last,
    LastKnown,
    Max,
    Min,
    Moments,
    Overflow,
    Sum,
    Weights,
)
from tidemill.aggregates.sketches import CountMinLane, HllLane, ItemsLane, KllLane, ThetaLane
from tidemill.aggregates.user.lanes import UserLane
from tidemill.catalog import Catalog
from tidemill.engine.register.plan_json import from_json, to_json
from tidemill.engine.register.store import PlanStore
from tidemill.plan.expressions import Scalar
from tidemill.plan.predicates import Reading, Term
from tidemill.share import SharedPlan, Stint
from tidemill.types import BIGINT


def changing_plans(rng: random.Random, folder: Path) -> list[SharedPlan]:
    """The plans of a stream whose queries come, go and move."""
    mill = Mill(folder, random_settings(rng), random_sample(rng))
    pool = random_queries(rng, 12)
    plans = []
    for tick in range(5):
        mill.change(rng.sample(pool, 6))
        if tick % 2:
            mill.rebuild()
        plans.append(mill.plan)
        mill.tick([random_row(rng, tick * 30_000 + n * 1_000) for n in range(10)])
    return plans


@pytest.mark.parametrize("seed", range(6))
def test_synopses_and_stints_come_back_as_they_were(seed: int, tmp_path: Path) -> None:
    plan = changing_plans(random.Random(seed), tmp_path)[-1]
    assert plan.synopses
    for value in (plan.synopses, *plan.stints.values()):
        read = from_json(to_json(value))
        assert read == value
        assert hash(read) == hash(value)


def test_large_masks_and_bytes_survive() -> None:
    stint = Stint("s1", Reading((Term(1 << 200, (1 << 70) | 1),)), -(2**62), 2**62)
    assert from_json(to_json((stint,))) == (stint,)
    assert from_json(to_json((b"\x00\xff", "\u00e4", None, True, 1.5))) == (
        b"\x00\xff",
        "\u00e4",
        None,
        True,
        1.5,
    )


@pytest.mark.parametrize(
    ("kind", "lane"),
    [
        *(("count", Count), ("sum", Sum), ("overflow", Overflow), ("min", Min), ("max", Max)),
        *(("moments", Moments), ("first", FirstKnown), ("last", LastKnown)),
        *(("first_row", First), ("last_row", Last), ("counts", Counts)),
        *(("weights", Weights), ("hll", HllLane), ("theta", ThetaLane), ("kll", KllLane)),
        *(("items", ItemsLane), ("countmin", CountMinLane), ("user", UserLane)),
    ],
)
def test_lanes_are_stored_by_the_names_that_older_homes_have(kind: str, lane: type[Lane]) -> None:
    text = (
        f'{{"is": "Lane", "kind": "{kind}", "argument": {{"is": "Scalar", "sql": "x", '
        '"try_sql": "x", "type": {"is": "Type", "name": "BIGINT", "precision": 0, "scale": 0, '
        '"inner": []}, "columns": ["x"], "raised_sql": "", "guarded": false, "joined": []}, '
        '"others": [], "parameters": [12], "code": null}'
    )
    value = lane(Scalar("x", "x", BIGINT, ("x",)), parameters=(12,))
    assert to_json(value) == text
    assert from_json(text) == value


@pytest.mark.parametrize("seed", range(4))
def test_the_store_follows_a_plan_step_by_step(seed: int, tmp_path: Path) -> None:
    connection = sqlite3.connect(":memory:")
    store = PlanStore(connection)

    def load() -> SharedPlan:
        return PlanStore(connection).load(Catalog(), nothing_to_bind)

    assert load() == SharedPlan()
    before = SharedPlan()
    for plan in changing_plans(random.Random(seed), tmp_path):
        store.save(before, plan)
        read = load()
        assert set(read.synopses) == set(plan.synopses)
        assert dict(read.stints) == dict(plan.stints)
        assert (read.version, read.next_synopsis) == (plan.version, plan.next_synopsis)
        assert dict(read.rebuild_costs) == dict(plan.rebuild_costs)
        before = plan
    connection.close()
