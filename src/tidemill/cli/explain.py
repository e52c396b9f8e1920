"""`tidemill explain SCRIPT.sql`: what a script's queries become, without running them."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from tidemill.cli.failures import reported
from tidemill.cli.progress import Working
from tidemill.cli.run import Master, Script, read_script
from tidemill.engine import Engine
from tidemill.errors import refuse

EXPLAIN_MODES = ("ast", "plan", "shared", "spark", "schedule")


def command(
    script: Script,
    mode: Annotated[str, typer.Option(help=f"one of {', '.join(EXPLAIN_MODES)}")] = "shared",
    graph: Annotated[Path | None, typer.Option(help="draw the shared plan, FILE.svg")] = None,
    master: Master = None,
) -> None:
    """Explain every query of a script; nothing is registered or run."""
    if graph is not None and graph.suffix.lower() != ".svg":
        raise typer.BadParameter(f"--graph writes SVG, so FILE.svg and not '{graph.name}'")
    if mode.lower() not in EXPLAIN_MODES:
        raise typer.BadParameter(f"no mode '{mode}'; modes: {', '.join(EXPLAIN_MODES)}")
    # A line of its own, since the script may end in a comment or without a semicolon.
    text = f"{read_script(script)}\n;\nEXPLAIN {mode.upper()} ALL;"
    with reported(), tempfile.TemporaryDirectory() as scratch, Working() as working:
        folder = script.absolute().parent
        with Engine(scratch, master, notice=working) as engine:
            with working:
                replies = engine.explain(text, folder)
            print("\n\n".join(replies))
            if graph is not None:
                write_drawing(graph, engine.drawing(read_script(script), folder))


def write_drawing(path: Path, drawing: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(drawing, encoding="utf-8")
    except OSError as error:
        refuse("E_GRAPH", f"drawing {path} cannot be written", detail=str(error))
    print(f"drawn: {path}", file=sys.stderr)
