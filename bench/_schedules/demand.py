"""The time of joint runs of unshared soft queries, with all the time they need."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from _schedules.live import WARM_UPDATES, fill, opened
from _schedules.load import LONGEST, SoftQuery, add_files
from tidemill.engine.tick.report import TickReport

BASELINE = "none"


@dataclass(frozen=True)
class Demand:
    """The time of the joint runs of the baseline."""

    runs: int
    run_s: float  # one joint run, on average
    query_s: float  # the same by query
    update_s: float  # what each update demands

    def told(self, interval_s: float) -> str:
        return (
            f"{self.runs} joint runs of none: {1000 * self.run_s:.1f} ms each, "
            f"{1000 * self.query_s:.1f} ms a query; an update demands {self.update_s:.3f} s "
            f"and comes every {interval_s:.3f} s"
        )


def demand_of(queries: Sequence[SoftQuery], files: Sequence[Path], scratch: Path) -> Demand:
    home = scratch / "demand"
    with opened(home, queries, files, BASELINE) as engine:
        fill(engine, home, files)
        before = {name: state.history.runs for name, state in engine.queries.items()}
        took: dict[str, float] = {}

        def hear(report: TickReport) -> None:
            if "soft" not in report.phases:
                return
            seconds = report.phases["soft"] + report.phases["deliver"]
            ran = [n for n, s in engine.queries.items() if s.history.runs > before[n]]
            for name in ran:
                before[name] += 1
                took[name] = seconds / len(ran)

        add_files(home / "in", files[LONGEST + WARM_UPDATES : LONGEST + 2 * WARM_UPDATES])
        engine.run("idle", listener=hear)
    shutil.rmtree(home)
    period = {query.name: query.period for query in queries}
    subgroups = {(query.keys, query.period) for query in queries}
    total = sum(took.values())
    return Demand(
        runs=len(subgroups),
        run_s=total / len(subgroups),
        query_s=total / len(queries),
        update_s=sum(seconds / period[name] for name, seconds in took.items()),
    )
