"""`tidemill generate packets DIR`: a generated stream as Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from tidemill.cli.failures import reported
from tidemill.engine import write_packets


def command(
    generator: Annotated[str, typer.Argument(help="what to generate: packets")],
    folder: Annotated[Path, typer.Argument(help="where the files go; must be empty or new")],
    rows: Annotated[int, typer.Option(help="how many rows at most")] = 1_000_000,
    rows_per_file: Annotated[int, typer.Option(help="rows in one file")] = 250_000,
    option: Annotated[
        list[str] | None, typer.Option("-o", help="of generate:packets, as in -o rate=50000")
    ] = None,
) -> None:
    """Write generated rows as Parquet, for trials that read files."""
    with reported(), Progress(console=Console(stderr=True)) as progress:
        if generator != "packets":
            raise typer.BadParameter(f"no generator '{generator}'; generators: packets")
        task = progress.add_task("rows", total=rows)
        options = dict(text.partition("=")[::2] for text in option or [])
        written = write_packets(
            folder, rows, rows_per_file, options, lambda done: progress.update(task, completed=done)
        )
        progress.update(task, total=written)
    print(f"{written:,} rows in {folder}")
