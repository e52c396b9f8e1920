"""`tidemill explain SCRIPT.sql`: what a script's queries become, without running them."""

from __future__ import annotations

import tempfile
from typing import Annotated

import typer

from tidemill.cli.failures import reported
from tidemill.cli.run import Master, Script, read_script
from tidemill.engine import Engine

MODES = ("ast", "plan", "shared", "spark")


def command(
    script: Script,
    mode: Annotated[str, typer.Option(help=f"one of {', '.join(MODES)}")] = "shared",
    master: Master = None,
) -> None:
    """Explain every query of a script; nothing is registered or run."""
    if mode.lower() not in MODES:
        raise typer.BadParameter(f"no mode '{mode}'; modes: {', '.join(MODES)}")
    text = f"{read_script(script).rstrip().rstrip(';')};\nEXPLAIN {mode.upper()} ALL;"
    with reported(), tempfile.TemporaryDirectory() as scratch:
        replies = Engine(scratch, master).explain(text, script.absolute().parent)
        print("\n\n".join(replies))
