"""`tidemill generate NAME DIR`: generated streams as Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from tidemill.cli.failures import reported
from tidemill.engine import FAMILIES, write_generated


def command(
    generator: Annotated[str, typer.Argument(help=f"what to generate: {', '.join(FAMILIES)}")],
    folder: Annotated[Path, typer.Argument(help="where the files go; must be empty or new")],
    rows: Annotated[int, typer.Option(help="how many rows at most")] = 1_000_000,
    rows_per_file: Annotated[int, typer.Option(help="rows in one file")] = 250_000,
    option: Annotated[
        list[str] | None, typer.Option("-o", help="of generate:NAME, as in -o rate=50000")
    ] = None,
) -> None:
    """Write generated rows as Parquet, for trials that read files."""
    with reported(), Progress(console=Console(stderr=True)) as progress:
        if generator not in FAMILIES:
            names = ", ".join(FAMILIES)
            raise typer.BadParameter(f"no generator '{generator}'; generators: {names}")
        task = progress.add_task("rows", total=rows)
        options = dict(text.partition("=")[::2] for text in option or [])
        written = write_generated(
            generator,
            folder,
            rows,
            rows_per_file,
            options,
            lambda done: progress.update(task, completed=done),
        )
        progress.update(task, total=written)
    print(f"{written:,} rows in {folder}")
