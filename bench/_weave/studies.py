"""Rates, numbers of queries, overlaps, skews: what the plans cost as each of them changes."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from _weave.averages import Aggregated, average_costs
from _weave.local_search import local_search
from _weave.rivals import exhaustive, insert_then_weave, random_plan
from _weave.workload import Woven, draw, mean_row
from tidemill.share.weave import (
    Operations,
    Processing,
    alone,
    cost_of_plan,
    everything,
)

US = 1_000_000
RATES = (50, 300, 10_000)
TREES, TRIOPS = Processing.TREES, Processing.TRIOPS
Row = dict[str, float]


@dataclass(frozen=True)
class Scale:
    """The size of the study."""

    seeds: int
    table: int
    counts: tuple[int, ...]
    searched: int
    overlaps: tuple[int, ...]


FULL = Scale(3, 1000, (50, 100, 250, 500, 1000), 250, (50, 200, 500, 1000, 2000))
QUICK = Scale(1, 250, (50, 100), 50, (50, 500))


def table(woven: list[Woven]) -> list[Row]:
    """Every plan at the three rates: means over the draws, and the greedy's seconds."""
    return [{"rate": rate, **mean_row([draw_.costs(rate) for draw_ in woven])} for rate in RATES]


def sweep(woven: dict[int, Woven]) -> dict[int, list[Row]]:
    """By number of queries: costs over the rate."""
    rates = np.unique(np.round(np.logspace(0, 6, 49), 1))
    return {n: [{"rate": r, **w.costs(r)} for r in rates.tolist()] for n, w in woven.items()}


def crossovers(woven: list[Woven]) -> Row:
    """The rate at which sharing everything begins to beat sharing nothing, and gains beyond."""
    at = [(w.shared(0) - w.none(0)) / (w.count - 1) for w in woven]
    single = [next(r for r in range(100, 10**6, 100) if w.weave(r)[1] == 1) for w in woven]
    gains = {
        f"gain at {rate}": statistics.mean(1 - w.weave(rate)[0] / w.shared(rate) for w in woven)
        for rate in (50, 2_000, 3_000)
    }
    return {
        "crossover": statistics.mean(at),
        "shared over none at 50": statistics.mean(w.shared(50) / w.none(50) for w in woven),
        "one tree from": statistics.mean(single),
        **gains,
    }


# Ways to a plan, with heads that fit a table.
WAYS = {
    "NoShare": "NoShare",
    "Random": "Random",
    "Shared": "Shared",
    "Local Search": "Local S.",
    "Insert-then-Weave": "Ins.-Weave",
    "Weave Share": "Weave",
    "TriWeave": "TriWeave",
    "lower bound": "bound",
}


def competitors(woven: dict[int, Woven], searched: int) -> list[Row]:
    """Every way to a plan at two rates, over the number of queries."""
    return [_compared(w, rate, searched) for rate in RATES[:2] for w in woven.values()]


def _compared(woven: Woven, rate: int, searched: int) -> Row:
    load, model = woven.load, Operations(Fraction(rate))
    chance = random_plan(woven.count, seed=1)
    row = {"rate": rate, "queries": woven.count, **woven.costs(rate)}
    row["Random"] = float(cost_of_plan(load, chance, TREES, model))
    inserted = insert_then_weave(load, TREES, model)
    row["Insert-then-Weave"] = float(cost_of_plan(load, inserted, TREES, model))
    if woven.count <= searched:
        bound = 2 * woven.linkage.stop_at(Fraction(rate))
        found, steps = local_search(load, TREES, model, alone(woven.count), bound)
        row["Local Search"] = float(cost_of_plan(load, found, TREES, model))
        row["Local Search steps"] = steps
    return row


def optimum(seeds: int) -> list[Row]:
    """The greedy and Shared over the best of all partitions."""
    rows = []
    for count, rate, seed in (
        (n, r, s) for n in (5, 10) for r in (200, 300, 400) for s in range(seeds)
    ):
        woven = Woven.of(draw(count, seed, overlap=2000))
        units = exhaustive(woven.load, TREES, Operations(Fraction(rate)))[1]
        best = float(units / woven.load.timeline.seconds)
        greedy = float(woven.greedy_cost(TREES, rate))
        shared = woven.shared(rate) / best
        rows.append({"queries": count, "rate": rate, "greedy": greedy / best, "Shared": shared})
    return rows


def overlaps(count: int, values: tuple[int, ...]) -> list[Row]:
    """Gain over Shared as windows overlap more."""
    woven = {value: Woven.of(draw(count, 1, overlap=value)) for value in values}
    return [
        {"overlap": value, "rate": rate, "gain": 1 - w.weave(rate)[0] / w.shared(rate)}
        for value, w in woven.items()
        for rate in (100, 10_000, 1_000_000)
    ]


def skews(counts: tuple[int, ...], seeds: int) -> list[Row]:
    """Gain over Shared as small slides become more frequent."""
    rows = []
    for count in counts:
        for skew in np.arange(0, 2.05, 0.2).round(1).tolist():
            woven = [Woven.of(draw(count, seed, skew, overlap=10)) for seed in range(seeds)]
            gain = statistics.mean(1 - w.weave(100)[0] / w.shared(100) for w in woven)
            rows.append({"queries": count, "skew": skew, "gain": gain})
    return rows


def processing(woven: Woven) -> list[Row]:
    """Plans by how their groups are served: each its own pass, or all from one."""
    rows = []
    for rate in RATES:
        model = Operations(Fraction(rate))
        linkage, load = woven.linkage, woven.load
        plans = {
            "NoShare": alone(woven.count),
            "Random": random_plan(woven.count, seed=1),
            "Insert-then-Weave": insert_then_weave(load, TREES, model),
            "Weave Share": linkage.groups(linkage.stop_at(Fraction(rate))),
            "TriWeave": linkage.groups(linkage.stop_at(load.edge_rate)),
            "Shared": everything(woven.count),
        }
        for number, groups in enumerate(plans.values()):
            trees, triops = (
                float(cost_of_plan(load, groups, how, model)) for how in (TREES, TRIOPS)
            )
            rows.append(
                {
                    "rate": rate,
                    "plan": number,
                    "groups": len(groups),
                    "trees": trees,
                    "triops": triops,
                }
            )
    return rows


PLANS = ("NoShare", "Random", "Insert-then-Weave", "Weave Share", "TriWeave", "Shared")


def averages(count: int, seeds: int) -> list[Row]:
    """A third each of SUM, COUNT and AVG."""
    rows = []
    for rate in (5, 50, 300):
        found = []
        for seed in range(seeds):
            names = ("SUM", "COUNT", "AVG")
            queries = [Aggregated(w, names[n % 3]) for n, w in enumerate(draw(count, seed))]
            costs = average_costs(queries, Fraction(rate))
            found.append({name: float(value) for name, value in vars(costs).items()})
        rows.append({"rate": rate, **mean_row(found)})
    return rows
