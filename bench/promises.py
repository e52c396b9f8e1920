"""What a tick costs that only promises, beside an empty one, and a look that promises nothing.

    tidemill bench promises --json bench/results/promises.json

One stream whose times follow a clock that is moved by hand, and many queries over it. In turn: a
look at the source that lets nothing go; an empty tick, which is a flush with nothing to close; a
tick whose promise lets nothing go, as `SET promises = 'every 1 second'` makes them; and one made on
demand, which answers a window of each query. Processor time, medians over many ticks.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from _harness import print_table, write_json

from tidemill import Engine
from tidemill.clock import ManualClock
from tidemill.engine.tick.runner import StreamRunner

SECOND_US = 1_000_000
NOON_US = 1_767_268_800 * SECOND_US
SCRIPT = """
SET promises = '{promises}';
CREATE STREAM s (ts TIMESTAMP, k BIGINT, n BIGINT) ORDER BY ts SOURCE 'parquet:{data}'
  WITH (lateness = '10 hours', clock = 'wall');
CREATE SINK out TO 'discard:';
"""
QUERY = "CREATE QUERY q{0} INTO out AS SELECT k, SUM(n) AS n FROM s [RANGE {1} s SLIDE 1 s]{2};"
WORKS = ("look", "empty tick", "promise", "promise that answers")


def measure(queries: int, ticks: int, scratch: Path) -> dict[str, float]:
    """Median seconds of each work."""
    spent: dict[str, list[float]] = {work: [] for work in WORKS}
    for promises in ("every 1 second", "on demand"):
        clock = ManualClock(NOON_US)
        with Engine(scratch / f"{queries}-{promises}", clock=clock) as engine:
            script = SCRIPT.format(promises=promises, data=scratch / "data")
            windows = [QUERY.format(n, n % 10 + 1, " GROUP BY k") for n in range(queries)]
            engine.sql(script + "".join(windows))
            (runner,) = engine._assembly.runners()
            assert runner.tick(draining=False)
            # From here on the promise of each second passes the end of a window that waits.
            clock.advance(36_000 * SECOND_US + 20 * SECOND_US)
            assert runner.tick(draining=False)
            _measure(runner, clock, promises == "on demand", ticks, spent)
    return {work: statistics.median(seconds) for work, seconds in spent.items()}


def _measure(
    runner: StreamRunner,
    clock: ManualClock,
    is_on_demand: bool,
    ticks: int,
    spent: dict[str, list[float]],
) -> None:
    def timed(work: str, run: Callable[[], object]) -> object:
        started = time.process_time()
        outcome = run()
        spent[work].append(time.process_time() - started)
        return outcome

    if is_on_demand:
        for _ in range(ticks):
            assert timed("look", lambda: runner.tick(draining=False)) is None
            clock.advance(SECOND_US)
            report = timed("promise that answers", lambda: runner.tick(draining=False))
            assert report is not None
            assert sum(report.answers.values())
        return
    runner.flush()
    clock.advance(400 * SECOND_US)
    for _ in range(ticks):
        clock.advance(SECOND_US)
        report = timed("promise", lambda: runner.tick(draining=False))
        assert report is not None
        assert not sum(report.answers.values())
        timed("empty tick", runner.flush)


def main() -> None:
    options = _options()
    scratch = Path(tempfile.mkdtemp(prefix="tidemill-bench-"))
    try:
        (scratch / "data").mkdir()
        seconds = options.ticks + 40
        times = [NOON_US + n * SECOND_US // 10 for n in range(10 * seconds)]
        rows = {"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": [0, 1] * (5 * seconds)}
        pq.write_table(pa.table({**rows, "n": range(10 * seconds)}), scratch / "data" / "a.parquet")
        figures = {str(n): measure(n, options.ticks, scratch) for n in (1, 100)}
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    ratios = {n: round(f["promise"] / f["empty tick"], 2) for n, f in figures.items()}
    table = [
        [n, *(f"{f[work] * 1000:.2f} ms" for work in WORKS), f"{ratios[n]:.2f}"]
        for n, f in figures.items()
    ]
    print_table("processor time of a tick", ["queries", *WORKS, "promise / empty"], table)
    if options.json:
        write_json(options.json, {"seconds": figures, "ratios": ratios})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tidemill bench promises",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--ticks", type=int, default=200)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
