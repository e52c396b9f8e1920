"""`tidemill sql`: statements against a home, from `-c` or a prompt."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tidemill.cli.failures import reported
from tidemill.cli.progress import Working
from tidemill.engine import Attached, Engine
from tidemill.errors import TidemillError


def command(
    statements: Annotated[str | None, typer.Option("-c", help="run these and leave")] = None,
    home: Annotated[Path, typer.Option(help="the home to open")] = Path(".tidemill/sql"),
) -> None:
    """Register, show, describe, explain and select; `tidemill run` runs the streams.

    On a home that is running, statements take effect there, between two ticks.
    """
    working = Working()
    with reported(), _opened(home, working) as engine:
        if statements is not None:
            _say(engine, statements, working)
            return
        _prompt(engine, working)


def _opened(home: Path, working: Working) -> Engine | Attached:
    with working:
        try:
            return Engine(home, notice=working)
        except TidemillError as error:
            if error.code != "E_HOME_BUSY":
                raise
            return Attached(home, notice=working)


def _say(engine: Engine | Attached, text: str, working: Working) -> None:
    with working:
        replies = engine.sql(text)
    for reply in replies:
        print(reply)


def _prompt(engine: Engine | Attached, working: Working) -> None:
    """Read statements up to their semicolon; an error leaves the others as they were."""
    pending = ""
    while True:
        try:
            line = input("tidemill> " if not pending else "      ... ")
        except EOFError:
            return
        except KeyboardInterrupt:
            print()
            pending = ""
            continue
        if not pending and line.strip().lower() in ("exit", "quit", "\\q"):
            return
        pending += line + "\n"
        if line.rstrip().endswith(";"):
            try:
                _say(engine, pending, working)
            except TidemillError as error:
                print(error.render(), file=sys.stderr)
            pending = ""
