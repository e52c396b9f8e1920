"""A real cluster of a master and two workers on this machine, each a process of its own.

The file of an aggregate lies beside the script, outside of the package: workers make the class
from the text that comes with the plan. What no test on one machine can notice is a home that
workers do not share.
"""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import IO, TYPE_CHECKING

import pyarrow.dataset as ds
import pyspark

from tests.aggregates.written import TEXT
from tests.stories.oracle import Case, Term, batch_answers
from tests.stories.streams import STREAM, cut, random_rows, table_of, write_files
from tidemill.spark.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = Path(__file__).parents[2] / "src"
START_SECONDS = 300
# However little there is to do, workers do it.
RUN = """
from tidemill.spark.jobs import LIMITS, Limits
LIMITS["scanned_rows"] = LIMITS["answer_ns"] = Limits(-1, -1)
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
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        options: dict[str, object] = {"port": port, "webui-port": 0}
        started = stack.enter_context(daemon("master.Master", options))
        said(started, "New state: ALIVE")
        workers = []
        for number in range(2):
            work = folder / f"work-{number}"
            options = {"cores": 1, "memory": "1g", "webui-port": 0, "work-dir": work}
            workers.append(stack.enter_context(daemon("worker.Worker", options, master)))
        for worker in workers:
            said(worker, "Successfully registered with master")
        yield master


@contextmanager
def daemon(name: str, options: Mapping[str, object], *others: str) -> Iterator[Queue[str]]:
    """A process of Spark, and what it says, line by line; an empty line is its end."""
    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    java = {"JAVA_HOME": str(find_java()), "PYSPARK_PYTHON": sys.executable}
    given = {"host": "127.0.0.1", **options}
    words = [word for key, value in given.items() for word in (f"--{key}", str(value))]
    lines: Queue[str] = Queue()
    with subprocess.Popen(
        [str(program), f"org.apache.spark.deploy.{name}", *words, *others],
        env={**environment(), **java},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        # Read to the end, or a full pipe would stop the process.
        reader = Thread(target=hear, args=(process.stdout, lines))
        reader.start()
        try:
            yield lines
        finally:
            process.terminate()
            process.wait(timeout=START_SECONDS)
            reader.join()


def hear(output: IO[str], lines: Queue[str]) -> None:
    for line in output:
        lines.put(line)
    lines.put("")


def said(lines: Queue[str], words: str) -> None:
    """Comes back when the process has said these words."""
    heard = []
    while words not in (line := lines.get(timeout=START_SECONDS)):
        heard.append(line)
        assert line, f"the cluster does not start:\n{''.join(heard)}"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
