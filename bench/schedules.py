"""Soft periods under load: what each policy gets done, how late, and how old answers are.

    tidemill bench schedules             some minutes; results and plots go into the clone
    tidemill bench schedules --quick     a short one, printed alone
    tidemill bench schedules --sections spark    the same workload on Spark, at twice its capacity

The experiment of Golab's thesis (chapter 8) with a virtual clock: 8 groups of 5 to 30 queries,
windows of 20 to 100 updates, periods of 1 to half the window, a one-time query about every second,
an update every second, and a high rate with twice as many distinct values. Nothing is run on
Spark. A joint run takes what its cost model says (bench/_schedules/costs.py).

Where the published result is not found again, and why:

- *Aggressive never collapses.* It leads in executions a second nearly everywhere, because early
  runs count as executions; they also thin out the late ones in the mean. So `useful` counts no
  more of a query than it asks for. There aggressive is at best level with hybrid and late-pending
  sharing, and up to 28 % behind where a query has a price of its own.
- *The gains of hybrid and late-pending depend on what a query adds to a joint run.* If that is
  nothing, sub-groups that cost nothing more together are merged, and hybrid does up to 2.8 times
  what conservative does, with a third of the tasks left. At thirty merges a query it is 1.2 times.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from _harness import print_table, tell, write_json
from _schedules import overload
from _schedules.costs import MODELS
from _schedules.study import FULL, QUICK, Row, Scale, rows_as_json, study

HERE = Path(__file__).parent
RESULTS = {
    "simulation": HERE / "results" / "schedules.json",
    "spark": HERE / "results" / "schedules-spark.json",
}
IMAGES = HERE.parent / "docs" / "images"
# Side by side, of one load: name, one policy over the other, and in which figure. CS is
# conservative, HS hybrid, LP hybrid with late-pending sharing, AS aggressive.
RATIOS = (
    ("CS/none done", "conservative", "none", "executions_per_s"),
    ("HS/CS done", "hybrid", "conservative", "executions_per_s"),
    ("HS/CS useful", "hybrid", "conservative", "useful_per_s"),
    ("CS/HS late", "conservative", "hybrid", "latency"),
    ("LP/HS done", "hybrid-late-pending", "hybrid", "executions_per_s"),
    ("LP/HS useful", "hybrid-late-pending", "hybrid", "useful_per_s"),
    ("AS/LP done", "aggressive", "hybrid-late-pending", "executions_per_s"),
    ("AS/LP useful", "aggressive", "hybrid-late-pending", "useful_per_s"),
)


def simulation(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Every model in a process of its own, as many at a time as there are jobs."""
    scale = QUICK if options.quick else FULL
    with ProcessPoolExecutor(options.jobs) as pool:
        found = list(pool.map(_studied, [scale] * len(MODELS), MODELS))
    rows = [row for mine in found for row in mine]
    _report(rows)
    return rows_as_json(rows)


def _studied(scale: Scale, model: str) -> list[Row]:
    rows = list(study(scale, model))
    tell(f"{model}: {len(rows)} settings")
    return rows


SECTIONS: Mapping[str, Callable[[argparse.Namespace], Any]] = {
    "simulation": simulation,
    "spark": overload.measure,
}


def main() -> None:
    options = _options()
    sections = {name: SECTIONS[name](options) for name in options.sections}
    is_kept = not options.json and not options.quick
    if options.json:
        write_json(options.json, {"sections": sections})
    for name, found in sections.items() if is_kept else ():
        write_json(RESULTS[name], {"sections": {name: found}})
    if "simulation" in sections and (options.plots or is_kept):
        from _schedules.plots import draw_all  # the one part that needs matplotlib

        for path in draw_all(sections["simulation"], options.plots or IMAGES):
            print(path)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tidemill bench schedules",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = ", ".join(SECTIONS)
    parser.add_argument("--sections", type=_sections, default=["simulation"], help=names)
    parser.add_argument("--quick", action="store_true", help="fewer queries, nothing written")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--json", type=Path, help="default: in bench/results")
    parser.add_argument("--plots", type=Path, help=f"default {IMAGES.relative_to(HERE.parent)}")
    overload.add_options(parser)
    return parser.parse_args()


def _sections(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in SECTIONS]:
        raise argparse.ArgumentTypeError(f"no section {unknown[0]}; there are {list(SECTIONS)}")
    return names


def _report(rows: Sequence[Row]) -> None:
    for model in MODELS:
        mine = [row for row in rows if row.model == model]
        head = ["rate, queries", "policy", "load", "tasks", "done/s", "useful/s", "late", "stale s"]
        print_table(MODELS[model].title, [*head, "response s"], [_shown(row) for row in mine])
        by_load: dict[tuple[str, int], dict[str, Row]] = {}
        for row in mine:
            by_load.setdefault((row.rate, row.queries), {})[row.policy] = row
        ratios = [
            [f"{rate}, {count}", *(_ratio(found, *what) for _, *what in RATIOS)]
            for (rate, count), found in by_load.items()
        ]
        names = [name for name, *_ in RATIOS]
        print_table(f"{MODELS[model].title}: side by side", ["rate, queries", *names], ratios)


def _ratio(found: Mapping[str, Row], over: str, under: str, figure: str) -> str:
    top, bottom = (found[name].figures[figure][0] for name in (over, under))
    return f"{top / bottom:.2f}" if bottom >= 0.005 else "–"


def _shown(row: Row) -> list[str]:
    names = ("executions_per_s", "useful_per_s", "latency", "staleness_s", "response_s")
    figures = [_spread(*row.figures[name]) for name in names]
    load, tasks = row.figures["load"][0], row.figures["tasks"][0]
    return [f"{row.rate}, {row.queries}", row.policy, f"{load:.2f}", f"{tasks:.0%}", *figures]


def _spread(middle: float, least: float, most: float) -> str:
    """The median, and half of what lies between the extremes."""
    return f"{middle:.2f} ±{statistics.fmean((most, -least)):.2f}"


if __name__ == "__main__":
    main()
