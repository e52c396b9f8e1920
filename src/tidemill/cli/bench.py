"""`tidemill bench NAME …`: the programs under bench/ of a clone."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Annotated

import typer

FOLDER = Path(__file__).parents[3] / "bench"


def command(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="which benchmark")] = "",
) -> None:
    """Run a benchmark; its own options follow its name."""
    programs = {path.stem: path for path in sorted(FOLDER.glob("[a-z]*.py"))}
    if not programs:
        raise typer.BadParameter("benchmarks come with a clone of the repository, not the package")
    if name not in programs:
        raise typer.BadParameter(f"no benchmark '{name}'; benchmarks: {', '.join(programs)}")
    sys.argv = [f"tidemill bench {name}", *context.args]
    sys.path.insert(0, str(FOLDER))
    runpy.run_path(str(programs[name]), run_name="__main__")
