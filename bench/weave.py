"""The plan-cost study of weaving: what each way to a plan costs, and what planning takes.

    tidemill bench weave             a few minutes; results and plots go into the clone
    tidemill bench weave --quick     a short one, printed alone

Nothing is run on Spark: costs are operations per second in the papers' model, over windows
drawn with small slides frequent (Zipf 0.6, slides of 1 to 100,000 s, overlaps up to 50).
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from _harness import print_table, write_json
from _weave import efforts, studies
from _weave.engine_plans import engine_plans
from _weave.workload import Woven, draw
from rich.console import Console

from tidemill.share.weave import WEAVE_MODES

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "weave-plans.json"
IMAGES = HERE.parent / "docs" / "images"
EPSILONS = (0.0, 0.1, 0.2, 0.3, 0.5, math.inf)


def main() -> None:
    options = _options()
    scale = studies.QUICK if options.quick else studies.FULL
    study = run(scale)
    report(study)
    if not options.quick or options.json:
        write_json(options.json or RESULTS, study)
    if not options.quick or options.plots:
        from _weave.plots import draw_all  # the one part that needs matplotlib

        for path in draw_all(study, options.plots or IMAGES):
            print(path)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tidemill bench weave", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer queries, nothing written")
    parser.add_argument("--json", type=Path, help=f"default {RESULTS.relative_to(HERE.parent)}")
    parser.add_argument("--plots", type=Path, help=f"default {IMAGES.relative_to(HERE.parent)}")
    return parser.parse_args()


def run(scale: studies.Scale) -> dict[str, Any]:
    """Every part of the study; the draws of one seed are woven once and used by many."""
    large = [Woven.of(draw(scale.table, seed)) for seed in range(1, scale.seeds + 1)]
    middle = [Woven.of(draw(250, seed)) for seed in range(1, scale.seeds + 1)]
    by_count = {n: Woven.of(draw(n, 1)) for n in scale.counts if n != scale.table}
    by_count |= {scale.table: large[0]}
    quick = scale is studies.QUICK
    parts: dict[str, Callable[[], Any]] = {
        "table": lambda: studies.table(large),
        "crossovers": lambda: studies.crossovers(middle),
        "sweep": lambda: studies.sweep({250: middle[0], scale.table: large[0]}),
        "competitors": lambda: studies.competitors(by_count, scale.searched),
        "optimum": lambda: studies.optimum(2 if quick else 10),
        "overlaps": lambda: studies.overlaps(100 if quick else 500, scale.overlaps),
        "skews": lambda: studies.skews((100,) if quick else (100, 250), scale.seeds),
        "processing": lambda: studies.processing(middle[0]),
        "averages": lambda: studies.averages(60 if quick else 150, scale.seeds),
        "machine": lambda: engine_plans(50 if quick else 200),
        "ablation": lambda: efforts.ablation((25, 50) if quick else (25, 50, 100, 250)),
        "planning": lambda: efforts.planning((100,) if quick else (250, 500, 1000)),
        "incremental": lambda: efforts.incremental(
            50, 100 if quick else 400, EPSILONS, scale.seeds
        ),
    }
    return {"seeds": scale.seeds, "queries": scale.table} | dict(_timed(parts.items()))


def _timed(parts: Iterable[tuple[str, Callable[[], Any]]]) -> Iterable[tuple[str, Any]]:
    console = Console(stderr=True)
    for name, part in parts:
        started = time.perf_counter()
        yield name, part()
        console.print(f"{name}: {time.perf_counter() - started:.1f} s", highlight=False)


def report(study: dict[str, Any]) -> None:
    """The tables, in words and numbers."""
    head = ["rows/s", "NoShare", "Shared", "Weave Share", "trees", "TriWeave", "groups", "bound"]
    print_table(f"{study['queries']} queries", head, [_shown(row) for row in study["table"]])
    found = study["crossovers"]
    print_table("250 queries", list(found), [[f"{value:.3g}" for value in found.values()]])
    names = ["rate", "queries", *studies.WAYS]
    rows = [[_cell(row.get(name, "")) for name in names] for row in study["competitors"]]
    print_table("competitors", ["rows/s", "queries", *studies.WAYS.values()], rows)
    for part in ("averages", "ablation", "planning", "incremental"):
        rows = study[part]
        names = list(dict.fromkeys(name for row in rows for name in row))
        print_table(part, names, [[_cell(row.get(name, "")) for name in names] for row in rows])
    named = [{**row, "plan": studies.PLANS[row["plan"]]} for row in study["processing"]]
    print_table("250 queries", list(named[0]), [[_cell(v) for v in row.values()] for row in named])
    worst = max(study["optimum"], key=lambda row: row["greedy"])
    print(f"greedy over optimum at worst: {worst}")
    modes = [[_shown_machine(row), *map(_mode, row["modes"].values())] for row in study["machine"]]
    print_table("ms a second by the engine's model", ["stream", *WEAVE_MODES], modes)


def _shown_machine(row: dict[str, Any]) -> str:
    rate, groups = f"{row['rows per second']:,} rows/s", f"{row['groups']:,} groups"
    return f"{rate}, {groups}, {row['item']}, ticks of {row['tick']} s"


def _mode(plan: dict[str, Any]) -> str:
    return f"{1000 * plan['seconds']:.2f} ({plan['groups']})"


def _shown(row: dict[str, float]) -> list[str]:
    return [_cell(value) for value in row.values()]


def _cell(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


if __name__ == "__main__":
    main()
