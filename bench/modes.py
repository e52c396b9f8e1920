"""Every sharing mode on the same workloads, side by side: is `auto` the fastest?

    tidemill bench modes --json bench/results/modes.json
    tidemill bench modes --quick        one round of fewer rows: a minute or two

A workload is one of each:

- aggregates: `cheap` (SUM, COUNT), `dear` (MEDIAN, distinct counts by sketch, STDDEV) or `mixed`;
- groups: `few` or `many`;
- windows: `nested`, some short ones that slide often and some long ones that slide seldom, all
  edges repeating after a minute; or `apart`, slides without a common divisor, drawn evenly;
- ticks: `short`, a couple of seconds of the stream each, as in a stream that is followed live,
  or `long`, as in one that is caught up with.

Each mode runs the same queries over the same files, in turns, after a warm-up. Modes that make the
same plan are measured as one, and one that takes twice the fastest in the warm-up is left at that.
What counts is seconds of processor of the engine's process and of all that it has started, of the
best round, since others may use the machine; wall seconds stand beside them.
"""

from __future__ import annotations

import argparse
import itertools
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from _harness import Outcome, Timing, print_table, side_by_side, tell, write_json
from _processor import processor_seconds
from _rows import SCHEMA, Shape, make_files

import tidemill
from tidemill.settings import SHARING_MODES

RESULTS = Path(__file__).parent / "results" / "modes.json"
# As fast as the fastest, when so near to it.
NEAR = 1.10
# Slower than the fastest by so much in the warm-up, a mode is no candidate.
FAR = 2.0
CHEAP = ("SUM(length)", "COUNT(*)")
DEAR = ("MEDIAN(length)", "APPROX_COUNT_DISTINCT(length)", "STDDEV(length)")
AGGREGATES = {"cheap": CHEAP, "dear": DEAR, "mixed": (*CHEAP, "MAX(length)", *DEAR)}
GROUPS = {"few": 20, "many": 1_000}
TICK_SECONDS = {"short": 2, "long": 40}
# Long ticks take so little that more of the stream is read to tell the modes apart.
STRETCH = {"short": 1, "long": 10}
WINDOWS = ("nested", "apart")
_SLIDES = (1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31)


@dataclass(frozen=True)
class Workload:
    aggregates: str
    groups: str
    windows: str
    ticks: str

    @property
    def name(self) -> str:
        return f"{self.aggregates} aggregates, {self.groups} groups, {self.windows}, {self.ticks}"


@dataclass(frozen=True)
class Verdict:
    """Of one workload: the modes' best rounds, and how `auto` compares with the fastest."""

    workload: str
    cpu_seconds: dict[str, float]
    wall_seconds: dict[str, float]
    synopses: dict[str, int]
    plans: dict[str, str]  # a row for each synopsis; equal where the plans are
    fastest: str
    auto_over_fastest: float

    @property
    def holds(self) -> bool:
        return self.auto_over_fastest <= NEAR


def main() -> None:
    options = _options()
    scratch = Path(tempfile.mkdtemp(prefix="tidemill-bench-"))
    verdicts: list[Verdict] = []
    try:
        for verdict in _verdicts(options, scratch):
            verdicts.append(verdict)
            _save(options, verdicts)  # what is measured stays, should the rest be cut off
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    _print(verdicts)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tidemill bench modes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--seconds", type=int, default=120, help="of the stream's own time, in short ticks")
    add("--rate", type=int, default=2_000, help="rows per second of stream time")
    add("--queries", type=int, default=24)
    add("--modes", default=",".join(SHARING_MODES), help="with commas")
    add("--only", default="", help="words that the names of workloads must have, with commas")
    add("--repeats", type=int, default=2)
    add("--warm-up", type=int, default=1)
    add("--quick", action="store_true", help="fewer rows and queries, one round, no json")
    add("--json", type=Path, default=None, help=f"default {RESULTS.name} among the results")
    options = parser.parse_args()
    if options.quick:
        options.seconds, options.queries, options.repeats = 60, 12, 1
    options.json = options.json or (None if options.quick else RESULTS)
    return options


def _verdicts(options: argparse.Namespace, scratch: Path) -> Iterator[Verdict]:
    wanted = [word for word in options.only.split(",") if word]
    axes = GROUPS, TICK_SECONDS, AGGREGATES, WINDOWS
    for groups, ticks, aggregates, windows in itertools.product(*axes):
        workload = Workload(aggregates, groups, windows, ticks)
        if all(word in workload.name for word in wanted):
            tell(workload.name)
            yield _verdict(workload, options, scratch)


def _verdict(workload: Workload, options: argparse.Namespace, scratch: Path) -> Verdict:
    data = _files(workload, options, scratch)
    statements = list(_queries(workload, options.queries))
    home, modes = scratch / "home", options.modes.split(",")
    plans = {mode: _plan(mode, statements, data, home) for mode in modes}
    # Modes of equal plans do the same, and are measured once.
    stands_for = {mode: next(m for m in modes if plans[m] == plans[mode]) for mode in modes}
    contenders = {
        mode: partial(_run, mode, statements, data, home)
        for mode in dict.fromkeys(stands_for.values())
    }
    measured = _measured(contenders, options)
    timings = {mode: measured[stands_for[mode]] for mode in modes}
    # Others on the machine only add to what a run takes.
    cpu = {mode: min(timing.seconds) for mode, timing in timings.items()}
    fastest = min(cpu, key=lambda mode: (cpu[mode], mode != "auto"))
    return Verdict(
        workload.name,
        cpu,
        {mode: timing.details["wall"] for mode, timing in timings.items()},
        {mode: len(plan.splitlines()) for mode, plan in plans.items()},
        plans,
        fastest,
        cpu.get("auto", float("nan")) / cpu[fastest],
    )


def _measured(
    contenders: Mapping[str, Callable[[], Outcome]], options: argparse.Namespace
) -> dict[str, Timing]:
    """In turns after a warm-up; who takes many times the fastest there is not asked again, but
    for the first, which has compiled the loops for all."""
    if not options.warm_up:
        return side_by_side(contenders, options.repeats, 0)
    first = side_by_side(contenders, options.warm_up, 0)
    limit = FAR * min(timing.seconds[-1] for timing in first.values())
    warm = next(iter(contenders))
    near = {
        name: work
        for name, work in contenders.items()
        if name == warm or first[name].seconds[-1] <= limit
    }
    return {**first, **side_by_side(near, options.repeats, 0)}


def _files(workload: Workload, options: argparse.Namespace, scratch: Path) -> Path:
    """A file a tick; workloads of equal groups and ticks have the same."""
    folder = scratch / f"{workload.groups}-{workload.ticks}"
    if not folder.exists():
        shape = Shape(
            options.rate * options.seconds * STRETCH[workload.ticks],
            GROUPS[workload.groups],
            options.rate,
            "uniform",
        )
        make_files(folder, shape, options.rate * TICK_SECONDS[workload.ticks], 1)
    return folder


def _queries(workload: Workload, count: int) -> Iterator[str]:
    """Half of them end in a HAVING that nothing passes, as alarms do on quiet days."""
    dice = random.Random(7)
    aggregates = AGGREGATES[workload.aggregates]
    for number in range(count):
        range_s, slide_s = _window(workload.windows, number, dice)
        item = aggregates[number % len(aggregates)]
        having = "" if number % 2 else " HAVING COUNT(*) > 1000000000"
        yield (
            f"CREATE QUERY q{number} INTO nowhere AS SELECT src, {item} AS v FROM packets "
            f"[RANGE {range_s} SECONDS SLIDE {slide_s} SECONDS] GROUP BY src{having};"
        )


def _window(windows: str, number: int, dice: random.Random) -> tuple[int, int]:
    if windows == "apart":
        return dice.randint(10, 120), dice.choice(_SLIDES)
    if number % 6 == 0:
        return dice.randint(5, 15), 1
    return 30 * dice.randint(4, 8), 60


def _run(mode: str, statements: Sequence[str], data: Path, home: Path) -> Outcome:
    """Seconds of processor of the run, without registering the queries."""
    with tidemill.Engine(home) as engine:
        engine.sql(_script(mode, statements, data))
        before, started = processor_seconds(), time.perf_counter()
        report = engine.run("flush")
        wall, cpu = time.perf_counter() - started, processor_seconds() - before
    shutil.rmtree(home)
    return Outcome(cpu, sum(report.queries.values()), details={"wall": wall, **report.phases})


def _plan(mode: str, statements: Sequence[str], data: Path, home: Path) -> str:
    """Of each synopsis how many read it and what its windows have in common, in any order."""
    with tidemill.Engine(home) as engine:
        engine.sql(_script(mode, statements, data))
        (table,) = engine.sql("SHOW WEAVES")
    shutil.rmtree(home)
    rows = table.splitlines()[2:]  # after the names, and the line under them
    return "\n".join(sorted(" ".join(row.split()[1:7]) for row in rows))


def _script(mode: str, statements: Sequence[str], data: Path) -> str:
    head = (
        f"CREATE STREAM packets ({SCHEMA}) ORDER BY ts SOURCE 'parquet:{data}';",
        "CREATE SINK nowhere TO 'discard:';",
        f"SET tick_files = 1; SET sharing = '{mode}';",
    )
    return "\n".join([*head, *statements])


def _save(options: argparse.Namespace, verdicts: Sequence[Verdict]) -> None:
    if options.json is None:
        return
    rows = [{**asdict(verdict), "holds": verdict.holds} for verdict in verdicts]
    write_json(options.json, {"near": NEAR, "workloads": rows})


def _print(verdicts: Sequence[Verdict]) -> None:
    if not verdicts:
        tell("no workload has all of these words")
        return
    modes = list(verdicts[0].cpu_seconds)
    rows = [
        [
            verdict.workload,
            *(f"{verdict.cpu_seconds[mode]:.2f} ({verdict.synopses[mode]})" for mode in modes),
            f"{verdict.auto_over_fastest:.2f}",
            "yes" if verdict.holds else f"no: {verdict.fastest}",
        ]
        for verdict in verdicts
    ]
    title = "processor seconds (synopses) by mode, and auto over the fastest"
    print_table(title, ["workload", *modes, "auto", "near"], rows)
    held = sum(verdict.holds for verdict in verdicts)
    tell(f"auto is the fastest or within 10 % of it in {held} of {len(verdicts)} workloads")
    alike = sum(len(set(verdict.plans.values())) == 1 for verdict in verdicts)
    same = sum(v.plans.get("auto") == v.plans.get("shared") for v in verdicts)
    tell(f"auto has the plan of shared in {same}, and all modes have one plan in {alike}")


if __name__ == "__main__":
    main()
