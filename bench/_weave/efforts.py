"""The effort of planning: the speed-ups of the thesis one by one, and plans in small steps."""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import replace
from fractions import Fraction

from _weave.counted import VARIANTS, Variant, counted_weave
from _weave.live import Policy, added, begin, rebuilt
from _weave.workload import Woven, draw, mean_row
from tidemill.share.weave import (
    Operations,
    Processing,
    Workload,
    link,
)
from tidemill.windows import WindowSpec

TREES = Processing.TREES
# The thesis runs all variants on 250 queries; here each goes as far as it takes seconds.
LARGEST = {"naive": 50, "lookup": 100, "bitmap": 250, "probing": 250}
SLIDES_S = 10_000
CHARGE = 100
# A plan is compared with one made anew each time so many queries have come.
STEP = 25
Row = dict[str, float | str]


def ablation(counts: tuple[int, ...]) -> list[Row]:
    """Pairs evaluated, edges visited, seconds; `ours` is the vectorised run used elsewhere."""
    rows: list[Row] = []
    for count in counts:
        load = Workload.of(draw(count, 1, skew=0.7, overlap=10, longest=SLIDES_S))
        plan, row = _ours(load)
        rows.append(row)
        rows += [_counted(load, v, plan) for v in VARIANTS if count <= LARGEST[v.name]]
    return rows


def _ours(load: Workload) -> tuple[object, Row]:
    started = time.process_time()
    linkage = link(load, TREES, Operations(Fraction(CHARGE)))
    seconds = time.process_time() - started
    plan = linkage.groups(linkage.stop_at(Fraction(CHARGE)))
    return plan, {"queries": len(load.windows), "variant": "ours", "seconds": seconds}


def _counted(load: Workload, variant: Variant, plan: object) -> Row:
    started = time.process_time()
    found = counted_weave(load, Fraction(CHARGE), variant)
    seconds = time.process_time() - started
    assert found.groups == plan, f"{variant.name} made another plan"
    counts: Row = {"evaluations": found.evaluations, "visits": found.visits, "seconds": seconds}
    return {"queries": len(load.windows), "variant": variant.name, **counts}


def planning(counts: tuple[int, ...]) -> list[Row]:
    """Processor seconds to plan everything, and to add one query to the plan that stands."""
    rows: list[Row] = []
    for count in counts:
        windows = draw(count + 1, 1)
        names = {f"q{number}": window for number, window in enumerate(windows[:count])}
        for processing in (TREES, Processing.TRIOPS):
            policy = Policy(Operations(Fraction(50)), processing)
            started = time.process_time()
            plan = begin(policy, names)
            planned = time.process_time()
            wider = added(plan, "one more", windows[count])
            assert wider.cost
            seconds = {"all": planned - started, "one more": time.process_time() - planned}
            rows.append({"queries": count, "processing": processing.value, **seconds})
    return rows


def incremental(first: int, last: int, epsilons: tuple[float, ...], seeds: int) -> list[Row]:
    """Queries come one by one; how often the plan is made anew, and how far it is off."""
    runs = [
        _followed_all(draw(last, seed, longest=SLIDES_S), first, epsilons) for seed in range(seeds)
    ]
    return [
        {"epsilon": _named(epsilon), **mean_row([run[epsilon] for run in runs])}
        for epsilon in epsilons
    ]


def _followed_all(
    windows: list[WindowSpec], first: int, epsilons: tuple[float, ...]
) -> dict[float, dict[str, float]]:
    checked = range(first + STEP, len(windows) + 1, STEP)
    offline = {count: Woven.of(windows[:count]).weave(50)[0] for count in checked}
    return {epsilon: _followed(windows, first, epsilon, offline) for epsilon in epsilons}


def _named(epsilon: float) -> str:
    return "never" if math.isinf(epsilon) else f"{epsilon:.0%}"


def _followed(
    windows: list[WindowSpec], first: int, epsilon: float, offline: dict[int, float]
) -> dict[str, float]:
    started = time.process_time()
    names = {f"q{number}": window for number, window in enumerate(windows[:first])}
    policy = Policy(Operations(Fraction(50)), TREES, epsilon)
    # Two plans made anew, so that there is a line to go by.
    half = begin(policy, {name: names[name] for name in list(names)[: first // 2]})
    plan = begin(policy, names)
    plan = replace(plan, made=(*half.made, *plan.made))
    errors, rebuilds = [], 0
    for number, window in enumerate(windows[first:], start=first):
        plan = added(plan, f"q{number}", window)
        if plan.is_rebuild_due:
            plan, rebuilds = rebuilt(plan), rebuilds + 1
        if len(plan.windows) in offline:
            errors.append(float(plan.cost) / offline[len(plan.windows)] - 1)
    seconds = time.process_time() - started
    error = {"mean error": statistics.mean(errors), "largest error": max(errors)}
    return {"rebuilds": rebuilds, **error, "seconds": seconds}
