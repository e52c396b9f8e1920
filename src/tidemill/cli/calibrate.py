"""`tidemill calibrate`: measure this machine for the plans of a home."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidemill.calibrate import calibrate_home, forget_home, machine_table
from tidemill.cli.failures import reported
from tidemill.cli.progress import Working
from tidemill.cli.run import Master

_NEXT = "Plans that stand stay as they are; the next change of queries goes by"


def command(
    home: Annotated[Path, typer.Option(help="the home to measure for")] = Path(".tidemill/sql"),
    forget: Annotated[bool, typer.Option("--forget", help="back to the defaults")] = False,
    master: Master = None,
) -> None:
    """Measure what reading, folding and answering cost here, and plan by it."""
    with reported():
        if forget:
            had = forget_home(home)
            print(f"{_NEXT} the defaults." if had else f"{home} goes by the defaults already.")
            return
        with Working() as working:
            machines = calibrate_home(home, working, master)
        print(machine_table(machines))
        print(f"\nkept in {home}. {_NEXT} these figures.")
