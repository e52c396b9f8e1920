"""The modules that one query enters: in step 5 of a tick, and from its text to rows in a sink.

`python -m tests.architecture.entered` prints them.

Of step 5, from the windows due to their rows, counted are modules of the folders that carry it
out, engine, answer, state and spark. Modules below them, which hold what a plan, a lane or a type
is, are entered from everywhere. Of the whole query every module of the package is counted.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from tests.laws.mill import Mill
from tests.laws.queries import Asked, plan_of
from tidemill import Engine
from tidemill.engine.tick.machine import Answered
from tidemill.reference.answers import AcceptedRow

SOURCE = Path(__file__).parents[2] / "src" / "tidemill"
FOLDERS = ("engine", "answer", "state", "spark")
QUERY = (
    "SELECT k, SUM(n) AS total FROM s [RANGE 8 ms SLIDE 4 ms] WHERE n > 0"
    " GROUP BY k HAVING COUNT(*) > 1"
)

T = TypeVar("T")


def modules_entered(call: Callable[[], T]) -> tuple[T, set[str]]:
    """What the call returns, and the modules of the package in which it ran a function."""
    files: set[str] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            files.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        result = call()
    finally:
        sys.setprofile(None)
    inside = (Path(file) for file in files if file.startswith(str(SOURCE)))
    return result, {path.relative_to(SOURCE).as_posix() for path in inside}


def step_five() -> set[str]:
    """The modules that a query with a condition, a group and HAVING enters in step 5."""
    rows = [AcceptedRow(t * 500, {"ts": t * 500, "k": "abc"[t % 3], "n": t}) for t in range(48)]
    with tempfile.TemporaryDirectory() as folder:
        mill = Mill(Path(folder))
        mill.change([Asked(plan_of(0, QUERY), lambda values: values["n"] > 0)])
        machine = mill.machine()
        decided = machine.decide(machine.fold(mill.begin(rows)))
        answered, modules = modules_entered(lambda: machine.answer(decided))
    assert isinstance(answered, Answered)
    assert any(answers.counts.any() for result in answered.results for answers in result.answers)
    return modules


def whole_query() -> set[str]:
    """The modules that the query enters from its text to rows in a Parquet sink."""
    times = pa.array([n * 500 for n in range(400)], pa.int64()).cast(pa.timestamp("us", "UTC"))
    keys, numbers = ["abc"[n % 3] for n in range(400)], pa.array(range(400), pa.int64())
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "in").mkdir()
        pq.write_table(pa.table({"ts": times, "k": keys, "n": numbers}), place / "in" / "a.parquet")
        with _numba_not_loaded():
            _, modules = modules_entered(lambda: _run_query(place))
        assert pq.read_table(place / "out").num_rows
    return modules


@contextmanager
def _numba_not_loaded() -> Iterator[None]:
    """So few rows take other ways where earlier work of the process has loaded Numba."""
    numba = sys.modules.pop("numba", None)
    try:
        yield
    finally:
        if numba is not None:
            sys.modules["numba"] = numba


def _run_query(place: Path) -> None:
    with Engine(place / "home") as engine:
        engine.sql(
            f"CREATE STREAM s (ts TIMESTAMP, k STRING, n BIGINT) ORDER BY ts"
            f" SOURCE 'parquet:{place}/in';"
            f" CREATE SINK out TO 'parquet:{place}/out'; CREATE QUERY q INTO out AS {QUERY};"
        )
        engine.run(until="flush")


def counted(modules: set[str]) -> set[str]:
    return {module for module in modules if module.split("/")[0] in FOLDERS}


if __name__ == "__main__":
    entered = step_five()
    print(*sorted(counted(entered)), sep="\n")
    print(f"{len(counted(entered))} modules; below them {len(entered) - len(counted(entered))}:")
    print(*sorted(entered - counted(entered)), sep="\n")
    whole = whole_query()
    print(f"{len(whole)} modules from the text to the sink:")
    print(*sorted(whole), sep="\n")
