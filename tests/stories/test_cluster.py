"""A real cluster of a master and two workers on this machine, each a process of its own.

The file of an aggregate lies beside the script, outside of the package: workers make the class
from the text that comes with the plan. What no test on one machine can notice is a home that
workers do not share.
"""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.dataset as ds
import pyspark

from tests.aggregates.written import TEXT
from tests.stories.oracle import Case, Term, batch_answers
from tests.stories.streams import STREAM, cut, random_rows, table_of, write_files
from tidemill.spark.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = Path(__file__).parents[2] / "src"
START_SECONDS = 60
# However little there is to do, workers do it.
RUN = """
from tidemill.spark import answer
from tidemill.spark.columnar import fold
fold.MOST_ROWS_HERE = answer.MOST_WORK_HERE_NS = answer.LEAST_WORK_APART_NS = -1
from tidemill.cli import main
main()
"""
SUBMIT = (
    "--conf spark.executor.memory=512m --conf spark.scheduler.minRegisteredResourcesRatio=1.0"
    " --conf spark.scheduler.maxRegisteredResourcesWaitingTime=60s pyspark-shell"
)
CASE = Case(
    name="q",
    stream="s",
    range_ms=20_000,
    slide_ms=5_000,
    start_ms=0,
    keys=(Term("k"),),
    aggregates=(
        Term("total(m)", "COALESCE(SUM(m), 0L)"),
        Term("spread_out(m, least => 1)", "DOUBLE(MAX(m)) - MIN(m)"),
        Term("COUNT(*)"),
    ),
    where=None,
    having=None,
    descending=False,
    limit=None,
)
SCRIPT = f"""
CREATE AGGREGATE total SOURCE 'python:written.py';
CREATE AGGREGATE spread_out SOURCE 'python:written.py#SpreadOut';
{STREAM}
{CASE.create("out")}
"""


def test_aggregates_of_users_run_on_two_workers(spark: SparkSession, tmp_path: Path) -> None:
    rows = random_rows(random.Random(5), "disordered", 300)
    write_files(tmp_path / "in", cut(rows, 2))
    (tmp_path / "script.sql").write_text(SCRIPT)
    # Each process that makes the class leaves its number.
    mark = f"import os, pathlib\npathlib.Path({str(tmp_path)!r}, f'ran-{{os.getpid()}}').touch()\n"
    (tmp_path / "written.py").write_text(mark + TEXT)
    with cluster(tmp_path) as master:
        done = run(tmp_path / "script.sql", master)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("ran-*"))) >= 3  # the driver's and two workers'
    files = sorted(map(str, (tmp_path / "out" / "query=q").glob("[!_]*.parquet")))
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")
    assert CASE.compare(ds.dataset(files).to_table(), batch_answers(spark, CASE)) > 20


def run(script: Path, master: str) -> subprocess.CompletedProcess[str]:
    options = ["run", str(script), "--flush", "--home", str(script.parent / "home")]
    return subprocess.run(
        [sys.executable, "-c", RUN, *options, "--master", master],
        env={**environment(), "PYSPARK_SUBMIT_ARGS": SUBMIT},
        capture_output=True,
        text=True,
        check=False,
    )


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE), "SPARK_LOCAL_IP": "127.0.0.1"}


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The address of a master with two workers of one core each."""
    port, pages = free_port(), free_port()
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        options: dict[str, object] = {"port": port, "webui-port": pages}
        stack.enter_context(daemon(folder, "master.Master", options))
        until(lambda: alive(pages) == 0)
        for number in range(2):
            work = folder / f"work-{number}"
            options = {"cores": 1, "memory": "1g", "webui-port": 0, "work-dir": work}
            stack.enter_context(daemon(folder, "worker.Worker", options, master))
        until(lambda: alive(pages) == 2)
        yield master


@contextmanager
def daemon(folder: Path, name: str, options: Mapping[str, object], *others: str) -> Iterator[None]:
    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    told = (folder / f"{name}.log").open("a")
    java = {"JAVA_HOME": str(find_java()), "PYSPARK_PYTHON": sys.executable}
    given = {"host": "127.0.0.1", **options}
    words = [word for key, value in given.items() for word in (f"--{key}", str(value))]
    process = subprocess.Popen(
        [str(program), f"org.apache.spark.deploy.{name}", *words, *others],
        env={**environment(), **java},
        stdout=told,
        stderr=told,
        start_new_session=True,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)
        told.close()


def alive(port: int) -> int:
    """How many workers the master knows; -1 while it does not answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/", timeout=5) as page:
            return int(json.load(page)["aliveworkers"])
    except OSError:
        return -1


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "the cluster does not start"
        time.sleep(0.1)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
