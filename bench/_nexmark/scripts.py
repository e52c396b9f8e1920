"""The scripts of examples/nexmark, read from files in place of the generator."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples" / "nexmark"
_GENERATED = re.compile(r"generate:nexmark/(\w+)\?[^']*")


def query_names() -> tuple[str, ...]:
    """All that have a script, in the order of their numbers."""
    return tuple(sorted((path.stem for path in EXAMPLES.glob("q*.sql")), key=lambda q: int(q[1:])))


def over_files(query: str, data: Path) -> str:
    """A script that reads what `tidemill generate nexmark` has written."""
    text = (EXAMPLES / f"{query}.sql").read_text()
    redirected, count = _GENERATED.subn(rf"parquet:{data}/\1", text)
    assert count, f"{query}.sql reads no generated stream"
    return redirected


def copy_tables(folder: Path) -> Path:
    """The tables that scripts join, beside which their sinks may write."""
    shutil.copytree(EXAMPLES / "data", folder / "data", dirs_exist_ok=True)
    return folder
