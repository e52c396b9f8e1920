"""Progress and answers in the terminal: a live line and tables, or plain lines in a pipe."""

from __future__ import annotations

import sys
import time
from collections import deque
from types import TracebackType

import pyarrow as pa
from rich.console import Console
from rich.status import Status
from rich.table import Table

from tidemill.engine import COMPILING, STARTING_SPARK, TickReport, cell_texts

# Rows of one answer shown in the terminal; the sinks have them all.
SHOWN_ROWS = 10


class Progress:
    """A status line that follows the ticks, on standard error."""

    def __init__(self, quiet: bool = False) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._status = self._console.status("registering …") if not quiet else None
        self._live = self._status is not None and self._console.is_terminal
        self._quiet = quiet
        self._rows = self._answers = 0
        self._recent: deque[tuple[float, int]] = deque(maxlen=16)

    def __enter__(self) -> Progress:
        if self._live and self._status:
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live and self._status:
            self._status.stop()

    def working(self, what: str) -> None:
        """Shows work between ticks; in a pipe, only work that takes seconds."""
        if self._live and self._status:
            self._status.update(f"{what} …")
        elif not self._quiet and what.startswith((STARTING_SPARK, COMPILING)):
            self._console.print(f"{what} …", soft_wrap=True, markup=False)

    def tick(self, report: TickReport) -> None:
        self._answers += sum(report.answers.values())
        if "soft" in report.phases:
            # Beside the ticks, many a second: the next tick's line tells of their answers.
            return
        self._rows += report.rows_in
        now = time.perf_counter()
        if not self._recent:
            self._recent.append((now - report.seconds, 0))
        self._recent.append((now, report.rows_in))
        line = self.line(report)
        if self._live and self._status:
            self._status.update(line)
        elif not self._quiet:
            self._console.print(line, soft_wrap=True)
        for path, reason in report.skipped.items():
            self._console.print(f"left out {path}: {reason}", markup=False, soft_wrap=True)

    def line(self, report: TickReport) -> str:
        late = f" · {report.rows_late:,} late" if report.rows_late else ""
        late += f" · {report.rows_corrected:,} corrected" if report.rows_corrected else ""
        bad = f" · {report.rows_malformed:,} malformed" if report.rows_malformed else ""
        speed = f"{self._speed():,.0f} rows/s"
        return (
            f"{report.stream} tick {report.tick} · {self._rows:,} rows · {speed}{late}{bad}"
            f" · {self._answers:,} answers · tick {report.seconds:.2f} s"
        )

    def _speed(self) -> float:
        """Rows a second since the tick before the ones that are remembered."""
        (first, earlier_rows), (last, _) = self._recent[0], self._recent[-1]
        rows = sum(count for _, count in self._recent) - earlier_rows
        return rows / (last - first) if last > first else 0.0


class Working:
    """Tells of long work under way, on a terminal's standard error; nothing in a pipe."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._status: Status | None = None

    def __call__(self, what: str) -> None:
        if not self._console.is_terminal:
            return
        if self._status is None:
            self._status = self._console.status("")
            self._status.start()
        self._status.update(f"{what} …")

    def __enter__(self) -> Working:
        return self

    def __exit__(self, *_failure: object) -> None:
        """Gone before replies are printed; the next work begins a line of its own."""
        if self._status is not None:
            self._status.stop()
            self._status = None


class AnswerPrinter:
    """The `console:` sink: tables in a terminal, tab-separated lines in a pipe."""

    def __init__(self) -> None:
        # Without markup: an array in an answer is no instruction to colour what follows.
        self._console = Console(file=sys.stdout, highlight=False, markup=False)

    def __call__(self, query: str, rows: pa.Table) -> None:
        if self._console.is_terminal:
            self._console.print(_table(query, rows))
            return
        for values in zip(*map(cell_texts, rows.columns), strict=True):
            pairs = zip(rows.column_names, values, strict=True)
            print(query, *(f"{name}={value}" for name, value in pairs), sep="\t", flush=True)


def _table(query: str, rows: pa.Table) -> Table:
    more = f" (last {SHOWN_ROWS} of {len(rows):,} rows)" if len(rows) > SHOWN_ROWS else ""
    shown = rows.slice(max(0, len(rows) - SHOWN_ROWS))
    table = Table(title=f"{query}{more}", title_justify="left", title_style="bold")
    for name, column in zip(shown.column_names, shown.columns, strict=True):
        number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        table.add_column(name, justify="right" if number else "left")
    for values in zip(*map(cell_texts, shown.columns), strict=True):
        table.add_row(*values)
    return table
