"""Plans by the engine's own costs, in every mode, of windows as monitoring has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tidemill.aggregates.functions import BUILT_IN
from tidemill.calibrate.stage import stream
from tidemill.language import parse_script
from tidemill.language.statements import CreateQuery
from tidemill.plan.bind.binder import bind
from tidemill.plan.bind.environment import Environment
from tidemill.plan.query import QueryPlan
from tidemill.settings import Settings
from tidemill.share import Context, EngineCosts, Sample
from tidemill.share.optimiser import cost_with_feeds, optimise
from tidemill.share.weave import WEAVE_MODES

SAMPLED_ROWS = 8_192
# Rows a second, groups, what is asked for, seconds of the stream in a tick.
STREAMS = (
    (50_000, 1_000, "SUM(length)", 40),
    (50_000, 1_000, "SUM(length)", 2),
    (50_000, 1_000, "MEDIAN(length)", 40),
    (50_000, 1_000, "MEDIAN(length)", 2),
    (50_000, 10, "APPROX_COUNT_DISTINCT(length)", 2),
    (50_000, 100_000, "SUM(length)", 40),
    (1_000, 1_000, "MAX(length)", 2),
)


def engine_plans(count: int) -> list[dict[str, object]]:
    """Plans by the engine's own costs of monitoring windows: half of them slide often, and half
    are long (10 to 60 s every 1 to 10 s, 2 to 10 min every minute)."""
    random = np.random.default_rng(7)
    short = zip(random.integers(10, 61, count), random.integers(1, 11, count), strict=True)
    long = ((60 * int(minutes), 60) for minutes in random.integers(2, 11, count))
    windows = [pair for both in zip(short, long, strict=True) for pair in both][:count]
    return [_engine_row(windows, *stream) for stream in STREAMS]


def _engine_row(
    windows: Sequence[tuple[int, int]], rows: int, groups: int, item: str, tick_s: int
) -> dict[str, object]:
    queries = [asking(item, *window) for window in windows]
    keys = {"src": np.random.default_rng(1).integers(0, groups, SAMPLED_ROWS)}
    costs = EngineCosts(Sample(rows, SAMPLED_ROWS, keys, rows_per_tick=rows * tick_s))
    modes = {}
    for mode in WEAVE_MODES:
        context = Context(Settings(sharing=mode), costs)
        plan = optimise(queries, context)
        modes[mode] = {"seconds": cost_with_feeds(plan, context), "groups": len(plan)}
    return {"rows per second": rows, "groups": groups, "item": item, "tick": tick_s, "modes": modes}


def asking(item: str, range_s: int, slide_s: int) -> QueryPlan:
    window = f"RANGE {range_s} SECONDS SLIDE {slide_s} SECONDS"
    text = f"SELECT src, {item} AS v FROM packets [{window}] GROUP BY src"
    (statement,) = parse_script(f"CREATE QUERY q AS {text}")
    assert isinstance(statement, CreateQuery)
    return bind(replace(statement, name=text), stream(Path()), Environment(BUILT_IN))
