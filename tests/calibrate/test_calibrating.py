"""Calibration: the fits find what a made-up machine costs, and plans go by what is kept."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.engine.made_up import MadeUpMachine
from tidemill import Engine
from tidemill.aggregates import CostFamily
from tidemill.calibrate import calibrate_home
from tidemill.calibrate.calibrate import measure_synopses
from tidemill.calibrate.fitting import LEAST_NS, Job, Watch
from tidemill.calibrate.routes import in_catalyst, on_arrays
from tidemill.calibrate.rows import RowFigures, measure_rows
from tidemill.calibrate.stage import feeds_of, query, stream, synopsis_for, write_rows
from tidemill.cli import app
from tidemill.engine.register.figures import forget_machines, keep_machines, load_machines
from tidemill.language.names import Name
from tidemill.share.weave import ARRAY_COSTS, CATALYST_COSTS, MachineCosts, Machines
from tidemill.state.feed import Feed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOUR_MS = 3_600_000
FOUND = Machines(replace(ARRAY_COSTS, scan_ns=1.5), replace(CATALYST_COSTS, scan_ns=2.5))


@given(st.floats(1, 1e4), st.floats(0, 1), st.lists(st.floats(0, 1), min_size=6, max_size=6))
def test_a_fit_finds_what_one_more_costs(
    each_ns: float, fixed_s: float, noise: list[float]
) -> None:
    """Also when others use the machine, as long as each work finds it quiet once."""
    machine = MadeUpMachine(fixed_s, [*noise, 0.0])
    some, many = (Job(partial(machine.work, count * each_ns * 1e-9), count) for count in (1e6, 5e6))
    watch = Watch(machine.clock, rounds=16)
    assert watch.each_ns(some, many) == pytest.approx(each_ns, rel=1e-6)


def test_what_seems_to_cost_less_than_nothing_costs_a_little() -> None:
    machine = MadeUpMachine()
    found = Watch(machine.clock).each_ns(
        Job(partial(machine.work, 2.0), 1), Job(partial(machine.work, 1.0), 2)
    )
    assert found == LEAST_NS


def test_rows_are_told_from_sets_and_partials() -> None:
    machine, true = MadeUpMachine(fixed_s=0.25), RowFigures(150.0, 30.0, 80.0)
    found = measure_rows(machine.maker(true), Watch(machine.clock), ["file"] * 8)
    assert found.scan_ns == pytest.approx(true.scan_ns)
    assert found.set_ns == pytest.approx(true.set_ns)
    assert found.partial_ns == pytest.approx(true.partial_ns)


def _cells_by_hand(paths: Sequence[str]) -> int:
    rows = pq.read_table(paths, columns=["src", "length"])
    rows = rows.append_column("long", pc.greater(rows.column("length"), 500))
    return len(rows.group_by(["src", "long"]).aggregate([]))


def _feeds() -> Sequence[Feed]:
    queries = [query("src", HOUR_MS), query("src", HOUR_MS, "length > 500")]
    return feeds_of([synopsis_for(0, queries).synopsis])


def test_arrays_make_the_partials_that_are_counted(tmp_path: Path) -> None:
    paths = write_rows(tmp_path, 2)
    made = on_arrays(stream(tmp_path))(paths, _feeds())
    assert made == _cells_by_hand(paths) > 1_000


def test_catalyst_makes_the_same(spark: SparkSession, tmp_path: Path) -> None:
    paths = write_rows(tmp_path, 1)
    assert in_catalyst(spark, stream(tmp_path))(paths, _feeds()) == _cells_by_hand(paths)


def test_every_figure_of_a_synopsis_is_measured(tmp_path: Path) -> None:
    told: list[str] = []
    unmeasured = ("scan_ns", "set_ns", "partial_ns", "lanes")
    found = measure_synopses(Watch(rounds=1), tmp_path, told.append)
    figures = {name: value for name, value in vars(found).items() if name not in unmeasured}
    families = [f"measuring lanes of {family.value}" for family in CostFamily]
    assert told == [*(f"measuring {name.removesuffix('_ns')}" for name in ORDER), *families]
    assert found.lanes.keys() == set(CostFamily)
    assert all(value > 0 for lane in found.lanes.values() for value in vars(lane).values())
    # A sketch of many values is dearer than a number, whoever measures.
    numbers, sketches = (found.lanes[f] for f in (CostFamily.NUMBERS, CostFamily.SKETCHES))
    assert sketches.fold_ns > numbers.fold_ns
    assert figures.keys() == set(ORDER)
    assert all(getattr(ARRAY_COSTS, name) != value > 0 for name, value in figures.items())
    assert not list(tmp_path.iterdir())


ORDER = (
    *("fold_ns", "combine_ns", "keep_ns", "read_ns", "route_ns", "home_ns"),
    *("narrow_ns", "answer_ns", "piece_ns", "open_ns", "run_ns"),
)


def test_figures_are_kept_until_they_are_forgotten() -> None:
    connection = sqlite3.connect(":memory:")
    assert load_machines(connection) == Machines()
    assert not forget_machines(connection)
    keep_machines(connection, Machines())
    keep_machines(connection, FOUND)
    assert load_machines(connection) == FOUND
    assert forget_machines(connection)
    assert load_machines(connection) == Machines()


def test_figures_of_an_older_version_are_kept_and_the_others_are_the_defaults() -> None:
    connection = sqlite3.connect(":memory:")
    keep_machines(connection, FOUND)
    (text,) = connection.execute("SELECT figures FROM calibration").fetchone()
    old = json.loads(text)
    for costs in old.values():
        del costs["lanes"], costs["piece_ns"]
        costs["probe_ns"] = 4.0  # it was one for all lanes
    connection.execute("UPDATE calibration SET figures = ?", (json.dumps(old),))
    assert load_machines(connection) == FOUND


def _measure(_session: Callable[[], object], _notice: Callable[[str], None]) -> Machines:
    return FOUND


@pytest.mark.parametrize(
    ("source", "scan", "machine"),
    [
        ("parquet:in", "auto", FOUND.arrays),
        ("parquet:in", "catalyst", FOUND.catalyst),
        ("csv:in", "auto", FOUND.arrays),
        ("csv:in", "catalyst", FOUND.catalyst),
        ("csv:in?quote=x", "auto", FOUND.catalyst),
        ("json:in", "auto", FOUND.catalyst),
    ],
)
def test_plans_go_by_the_figures_of_their_route(
    tmp_path: Path, source: str, scan: str, machine: MachineCosts
) -> None:
    calibrate_home(tmp_path / "home", lambda _: None, measure=_measure)
    with Engine(tmp_path / "home") as engine:
        engine.sql(f"CREATE STREAM s (ts TIMESTAMP) ORDER BY ts SOURCE '{source}'", tmp_path)
        engine.sql(f"SET scan = '{scan}'")
        context = engine._registry.planner.context(Name("s"), engine.catalog, engine.plan)
    assert context.costs.machine == machine


def test_the_command_prints_keeps_and_forgets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "tidemill.cli.calibrate.calibrate_home"
    monkeypatch.setattr(command, partial(calibrate_home, measure=_measure))
    home = tmp_path / "home"
    said = CliRunner().invoke(app, ["calibrate", "--home", str(home)])
    assert said.exit_code == 0, said.stderr
    lines = said.stdout.splitlines()
    assert lines[0].split() == ["what", "default", "measured", "unit"]
    assert [line for line in lines if "on arrays" in line and " 1.5 " in line]
    assert "the next change of queries goes by these figures" in lines[-1]
    with Engine(home) as engine:
        assert engine._registry.planner.machines == FOUND
        busy = CliRunner().invoke(app, ["calibrate", "--home", str(home)])
        assert (busy.exit_code, "E_HOME_BUSY" in busy.stderr) == (1, True)
    forgotten = CliRunner().invoke(app, ["calibrate", "--forget", "--home", str(home)])
    assert "goes by the defaults" in forgotten.stdout
    with Engine(home) as engine:
        assert engine._registry.planner.machines == Machines()


def test_nothing_is_made_to_forget_nothing(tmp_path: Path) -> None:
    said = CliRunner().invoke(app, ["calibrate", "--forget", "--home", str(tmp_path / "home")])
    assert (said.exit_code, "already" in said.stdout) == (0, True)
    assert not (tmp_path / "home").exists()
