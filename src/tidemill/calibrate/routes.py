"""The two routes from rows to partials, each as the engine takes it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import psutil

from tidemill.calibrate.rows import Make
from tidemill.catalog import Stream
from tidemill.clock import SystemClock
from tidemill.connect.sources import SourceTools, open_source
from tidemill.connect.sources.files import FileInput
from tidemill.plan.joins import Join
from tidemill.scan.arrays.files import parts_of, read_batches
from tidemill.scan.arrays.program import write_program
from tidemill.scan.arrays.scan import in_total, scan
from tidemill.scan.contract import Admission, Terms
from tidemill.scan.routes import AUTO, hindrance
from tidemill.spark.catalyst.partials import catalyst_passes, partials
from tidemill.spark.readers import measure_files
from tidemill.spark.rows import Rows, read_rows
from tidemill.spark.session import Session
from tidemill.state.feed import Feed
from tidemill.state.pieces import gather


def on_arrays(stream: Stream) -> Make:
    def make(paths: Sequence[str], feeds: Sequence[Feed]) -> int:
        assert not hindrance(stream, feeds, AUTO)
        program = write_program(stream, feeds)
        parts = parts_of(program, paths)
        assert parts is not None
        scanned = in_total(scan(program, read_batches(program, parts), Terms()))
        return sum(len(cells) for _, cells in scanned.cells(program))

    return make


def in_catalyst(session: Session, stream: Stream) -> Make:
    source = open_source(stream, SourceTools(SystemClock(), partial(measure_files, session)))
    admission = Admission(stream, Terms(), 0, source.is_text)

    def make(paths: Sequence[str], feeds: Sequence[Feed]) -> int:
        columns = feeds[0].scan.columns
        rows = read_rows(session, stream, source, FileInput(tuple(paths)), columns)
        count = 0
        for one_pass in catalyst_passes(feeds, admission):
            table = partials(rows, one_pass, _no_tables).toArrow()
            for number, feed in enumerate(one_pass.feeds):
                count += len(gather(feed, one_pass.feed_rows(number, table)))
        return count

    return make


def tree_seconds() -> float:
    """Processor time of this process and of those it has started, Spark's among them."""
    me = psutil.Process()
    return sum(sum(process.cpu_times()[:2]) for process in [me, *me.children(recursive=True)])


def _no_tables(join: Join) -> Rows:
    raise AssertionError(f"nothing is joined, and {join.name} was asked for")
