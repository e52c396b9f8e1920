"""Soft queries on Spark at twice the capacity: every policy, beside the ingestion.

    tidemill bench schedules --sections spark

First it is measured, with all the time it needs, what the joint runs of policy `none` take: every
sub-group (queries of one group and one period) runs once over full windows, and what it takes is
divided by its period. The sum is what an update demands; files then come so fast that this is
`--overload` times what one thread can do. All policies have the same pace, each in a fresh home
whose windows are full when the time begins to count.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from _harness import print_table, tell

from _schedules.demand import BASELINE, demand_of
from _schedules.live import WARM_UPDATES, Measures, Trial, live
from _schedules.load import GROUPS, LONGEST, make_soft, write_updates
from tidemill.schedule import POLICIES


def measure(options: argparse.Namespace) -> dict[str, object]:
    """Every policy in turn, round after round; medians."""
    queries = make_soft(options.queries, options.groups)
    scratch = Path(tempfile.mkdtemp(prefix="tidemill-bench-"))
    try:
        files = write_updates(scratch / "pool", options.updates, options.rows)
        demand = demand_of(queries, files, scratch)
        interval_s = demand.update_s / options.overload
        tell(demand.told(interval_s))
        found = _rounds(options, Trial(queries, files, interval_s, options.seconds), scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    medians = {name: _median(rounds) for name, rounds in found.items()}
    asked = sum(1 / query.period for query in queries) / interval_s
    _print(medians, asked)
    return {
        "workload": {"queries": options.queries, "groups": options.groups, "rows": options.rows},
        "demand": {**asdict(demand), "interval_s": interval_s, "asked_per_s": asked},
        "policies": {name: asdict(one) for name, one in medians.items()},
        "ratios": {name: _ratios(one, medians[BASELINE]) for name, one in medians.items()},
        "rounds": {name: [asdict(one) for one in rounds] for name, rounds in found.items()},
    }


def _rounds(options: argparse.Namespace, trial: Trial, scratch: Path) -> dict[str, list[Measures]]:
    # Spark's workers start when first needed, for large snapshots: no policy is to pay for it.
    live(scratch / "warm-up", trial, BASELINE)
    found: dict[str, list[Measures]] = {name: [] for name in options.policies.split(",")}
    for turn in range(options.rounds):
        for name, rounds in found.items():
            home = scratch / f"{turn}-{name}"
            one = live(home, trial, name)
            tell(f"round {turn + 1}: {name} {one.useful_per_s:.1f} useful runs/s")
            rounds.append(one)
            shutil.rmtree(home)
    return found


def _median(rounds: Sequence[Measures]) -> Measures:
    each = [asdict(one) for one in rounds]
    return Measures(**{name: statistics.median(one[name] for one in each) for name in each[0]})


def _ratios(one: Measures, baseline: Measures) -> dict[str, float | None]:
    mine, other = asdict(one), asdict(baseline)
    return {name: mine[name] / other[name] if other[name] else None for name in mine}


def _print(medians: Mapping[str, Measures], asked: float) -> None:
    base = medians[BASELINE]
    rows = [
        [
            name,
            f"{one.runs_per_s:.0f} ({one.runs_per_s / base.runs_per_s:.2f})",
            f"{one.useful_per_s:.1f} ({one.useful_per_s / base.useful_per_s:.2f})",
            f"{one.useful_per_s / asked:.0%}",
            f"{one.joint_per_s:.1f}",
            f"{one.late_updates:.2f}",
            f"{one.stale_updates:.2f}",
            f"{one.lag_s:.2f}",
            f"{one.most_lag_s:.2f}",
            f"{one.last_waiting:g}",
            f"{one.tick_s:.3f}",
            f"{one.soft_share:.0%}",
            f"{one.planned_s:.1f}",
        ]
        for name, one in medians.items()
    ]
    header = ["policy", "runs/s", "useful/s", "asked", "joint", "late", "stale", "lag s"]
    header += ["most", "waits", "tick", "busy", "plan"]
    print_table("soft queries under overload; in brackets the ratio to none", header, rows)


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("of the section spark").add_argument
    add("--queries", type=int, default=240)
    add("--groups", type=int, default=len(GROUPS))
    add("--rows", type=int, default=2_000, help="of an update")
    add("--updates", type=int, default=LONGEST + 2 * WARM_UPDATES + 300, help="most in a run")
    add("--overload", type=float, default=2.0, help="what is demanded, by what one thread can do")
    add("--seconds", type=float, default=25.0, help="of each run")
    add("--rounds", type=int, default=3)
    add("--policies", default=",".join(POLICIES), help="with commas")
