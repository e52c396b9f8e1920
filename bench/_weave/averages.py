"""Sharing AVERAGE with SUM and COUNT, in the papers' model: three ways, for the cost study.

The engine keeps sums and counts side by side in every cell, which is the third way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tidemill.share.weave.choose import WeavePlan, woven
from tidemill.share.weave.model import Cost, Processing, Workload
from tidemill.share.weave.operations import Operations
from tidemill.windows import WindowSpec


@dataclass(frozen=True)
class Aggregated:
    """A window and its aggregate: SUM, COUNT or AVG."""

    window: WindowSpec
    aggregate: str


@dataclass(frozen=True)
class AverageCosts:
    """The cost of the queries when averages are kept apart, rewritten, or part of one vector."""

    apart: Cost
    rewritten: Cost
    fused_again: int
    vector: Cost


def average_costs(queries: Sequence[Aggregated], rows_per_second: Fraction) -> AverageCosts:
    model = Operations(rows_per_second)
    apart = sum((_cost(_windows(queries, name), model) for name in _NAMES), Fraction(0))
    rewritten, fused_again = _rewritten(queries, model)
    vector = _cost([query.window for query in queries], model)
    return AverageCosts(apart, rewritten, fused_again, vector)


_NAMES = ("SUM", "COUNT", "AVG")


def _rewritten(queries: Sequence[Aggregated], model: Operations) -> tuple[Cost, int]:
    """Each AVG as a SUM and a COUNT, woven with the genuine ones; those that found company in
    neither pool become one dual operator again, and these are woven among themselves."""
    averages = _windows(queries, "AVG")
    pools = [_windows(queries, name) for name in ("SUM", "COUNT")]
    plans = [_plan([*averages, *pool], model) for pool in pools]
    lonely = set.intersection(*(_single(plan) for plan in plans)) & set(range(len(averages)))
    dual = [averages[number] for number in sorted(lonely)]
    # A group of one costs the same wherever it stands, so leaving the pool takes just its cost.
    left = sum((plan.cost for plan in plans), Fraction(0))
    left -= 2 * sum((_cost([window], model) for window in dual), Fraction(0))
    return left + _cost(dual, model), len(dual)


def _single(plan: WeavePlan) -> set[int]:
    return {group[0] for group in plan.groups if len(group) == 1}


def _windows(queries: Sequence[Aggregated], name: str) -> list[WindowSpec]:
    return [query.window for query in queries if query.aggregate == name]


def _plan(windows: Sequence[WindowSpec], model: Operations) -> WeavePlan:
    return woven(Workload.of(windows), Processing.TREES, model)


def _cost(windows: Sequence[WindowSpec], model: Operations) -> Cost:
    return _plan(windows, model).cost if windows else Fraction(0)
