"""The demo's board: every query with its window, its count and its newest answer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType

import pyarrow as pa
from rich.console import Console
from rich.live import Live
from rich.table import Table

from tidemill.cli.progress import Progress
from tidemill.engine import CreateQuery, TickReport, cell_texts, window_clause

_BOUNDS = 2
_WIDTHS = (17, 34, 7)
_BORDERS = 13


class Board:
    """Redrawn at each tick in a terminal; in a pipe, one line a tick and a board at the end."""

    def __init__(self) -> None:
        # A pipe has no width of its own; eighty columns would cut the answers off.
        width = None if sys.stdout.isatty() else 140
        self._console = Console(highlight=False, markup=False, width=width)
        self._live = Live(console=self._console, auto_refresh=False)
        self._progress = Progress(quiet=self._console.is_terminal)
        self._windows: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._newest: dict[str, str] = {}
        self._line = "registering …"

    def __enter__(self) -> Board:
        self._progress.__enter__()
        if self._console.is_terminal:
            self._live.start()
            self._live.update(self._line, refresh=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.__exit__(kind, error, trace)
        if self._console.is_terminal:
            self._live.stop()
        elif error is None:
            self._console.print(self._table())

    def watcher(self, query: CreateQuery) -> Callable[[pa.Table], None]:
        """A function to be called with each tick's answers of a query."""
        name = query.name
        window = query.select.window
        self._windows[name] = window_clause(window).strip("[]").lower() if window else "rows"
        self._counts[name] = 0

        def watch(rows: pa.Table) -> None:
            self._counts[name] += len(rows)
            if len(rows):
                self._newest[name] = _newest(rows)

        return watch

    def working(self, what: str) -> None:
        """Shows the engine's work while there are no ticks."""
        self._progress.working(what)
        self._line = f"{what} …"
        if self._console.is_terminal:
            self._live.update(self._table(), refresh=True)

    def tick(self, report: TickReport) -> None:
        self._progress.tick(report)
        self._line = self._progress.line(report)
        if self._console.is_terminal:
            self._live.update(self._table(), refresh=True)

    def _table(self) -> Table:
        table = Table(title=self._line, title_justify="left", title_style="")
        # The newest answer takes what the others leave, down to nothing.
        left = max(1, self._console.width - sum(_WIDTHS) - _BORDERS)
        table.add_column("query", style="bold", no_wrap=True, width=_WIDTHS[0])
        table.add_column("window", no_wrap=True, width=_WIDTHS[1])
        table.add_column("answers", justify="right", no_wrap=True, width=_WIDTHS[2])
        table.add_column("newest answer", overflow="ellipsis", no_wrap=True, width=left)
        for name, window in self._windows.items():
            table.add_row(name, window, f"{self._counts[name]:,}", self._newest.get(name, ""))
        return table


def _newest(rows: pa.Table) -> str:
    """The first row of the last window: for ordered queries, its top; of rows the last."""
    if "window_end" not in rows.column_names:
        return _values(rows.slice(len(rows) - 1))
    ends = rows.column("window_end").cast(pa.int64()).to_pylist()
    row = rows.slice(ends.index(ends[-1]), 1)
    end = cell_texts(row.column("window_end"))[0].split(" ")[1]
    return f"{end}  {_values(row.select(row.column_names[_BOUNDS:]))}"


def _values(row: pa.Table) -> str:
    texts = [cell_texts(column)[0] for column in row.columns]
    return ", ".join(f"{name}={text}" for name, text in zip(row.column_names, texts, strict=True))
