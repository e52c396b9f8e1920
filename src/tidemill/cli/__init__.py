"""The command line: one file per command."""

from __future__ import annotations

from typing import Annotated

import typer

from tidemill.cli import bench, calibrate, demo, explain, generate, run, sql
from tidemill.version import VERSION

app = typer.Typer(
    name="tidemill",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("run")(run.command)
app.command("explain")(explain.command)
app.command("sql")(sql.command)
app.command("calibrate")(calibrate.command)
app.command("demo")(demo.command)
app.command("generate")(generate.command)
app.command("bench", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(
    bench.command
)


def _tell_version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"tidemill {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    _: Annotated[
        bool,
        typer.Option("--version", help="tell the version", callback=_tell_version, is_eager=True),
    ] = False,
) -> None:
    """Many sliding-window SQL queries over shared streams, on Spark."""


def main() -> None:
    app()
