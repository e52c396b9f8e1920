"""Measure everything, and keep it in a home for the plans that are made from then on."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from tidemill.aggregates import CostFamily
from tidemill.calibrate import synopses
from tidemill.calibrate.fitting import Watch
from tidemill.calibrate.lanes import lane_costs
from tidemill.calibrate.routes import in_catalyst, on_arrays, tree_seconds
from tidemill.calibrate.rows import measure_rows
from tidemill.calibrate.runs import run_ns
from tidemill.calibrate.stage import stream, write_rows
from tidemill.engine.home import Home
from tidemill.engine.register.figures import forget_machines, keep_machines
from tidemill.engine.register.script import Notice
from tidemill.share.weave import MachineCosts, Machines
from tidemill.spark.session import Session, start_session

Measure = Callable[[Callable[[], Session], Notice], Machines]
_FILES = 20


def measure_machine(session: Callable[[], Session], notice: Notice) -> Machines:
    """Both routes on generated rows, and what is the same after either."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        common = measure_synopses(Watch(), folder, notice)
        notice("writing rows to measure with")
        paths, packets = write_rows(folder, _FILES), stream(folder)
        notice("measuring rows on arrays")
        arrays = measure_rows(on_arrays(packets), Watch(), paths)
        notice("measuring rows in Catalyst, for which Spark starts")
        # The processes of Spark work too, and start more slowly.
        catalyst = measure_rows(in_catalyst(session(), packets), Watch(tree_seconds), paths)
    return Machines(replace(common, **asdict(arrays)), replace(common, **asdict(catalyst)))


def measure_synopses(watch: Watch, folder: Path, notice: Notice) -> MachineCosts:
    measures: dict[str, Callable[[], float]] = {
        "fold_ns": lambda: synopses.fold_ns(watch),
        "combine_ns": lambda: synopses.combine_ns(watch),
        "keep_ns": lambda: synopses.keep_ns(watch, folder),
        "read_ns": lambda: synopses.read_ns(watch, folder),
        "route_ns": lambda: synopses.route_ns(watch),
        "home_ns": lambda: synopses.home_ns(watch),
        "narrow_ns": lambda: synopses.narrow_ns(watch),
        "answer_ns": lambda: synopses.answer_ns(watch),
        "piece_ns": lambda: synopses.piece_ns(watch, folder),
        "open_ns": lambda: synopses.open_ns(watch, folder),
        "run_ns": lambda: run_ns(watch, folder),
    }
    figures = {}
    for name, measure in measures.items():
        notice(f"measuring {name.removesuffix('_ns')}")
        figures[name] = measure()
    lanes = {}
    for family in CostFamily:
        notice(f"measuring lanes of {family.value}")
        lanes[family] = lane_costs(watch, folder, family)
    return MachineCosts(**figures, lanes=lanes)


def calibrate_home(
    path: Path, notice: Notice, master: str | None = None, measure: Measure = measure_machine
) -> Machines:
    """Measure this machine for a home, which is made if it is not there; refused while busy."""
    with _opened(path) as home:
        connection = home.open()
        machines = measure(lambda: start_session(master), notice)
        keep_machines(connection, machines)
    return machines


def forget_home(path: Path) -> bool:
    """Back to the defaults; whether the home had figures of its own."""
    with _opened(path) as home:
        return home.exists and forget_machines(home.open())


@contextmanager
def _opened(path: Path) -> Iterator[Home]:
    home = Home(path)
    try:
        yield home
    finally:
        home.close()
