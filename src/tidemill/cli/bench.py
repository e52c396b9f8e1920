"""`tidemill bench NAME …`: the programs under bench/ of a clone, which a wheel installs too."""

from __future__ import annotations

import runpy
import sys
import sysconfig
from pathlib import Path
from typing import Annotated

import typer

CLONE = Path(__file__).parents[3] / "bench"
INSTALLED = Path(sysconfig.get_path("data")) / "share" / "tidemill" / "bench"


def command(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="which benchmark; without one, a list of all")] = "",
) -> None:
    """Run a benchmark; its own options follow its name: `tidemill bench NAME -- --help`."""
    folder = CLONE if CLONE.is_dir() else INSTALLED
    programs = {path.stem: path for path in sorted(folder.glob("[a-z]*.py"))}
    if not programs:
        raise typer.BadParameter(f"the benchmarks are not installed in {INSTALLED}")
    if name not in programs:
        raise typer.BadParameter(f"no benchmark '{name}'; benchmarks: {', '.join(programs)}")
    sys.argv = [f"tidemill bench {name}", *context.args]
    sys.path.insert(0, str(folder))
    runpy.run_path(str(programs[name]), run_name="__main__")
