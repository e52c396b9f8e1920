"""`tidemill demo`: a dozen standing queries over a generated stream of packets, live."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from tidemill.cli.board import Board
from tidemill.cli.failures import reported
from tidemill.cli.interrupts import stopping
from tidemill.cli.run import Master, summary
from tidemill.engine import Engine
from tidemill.errors import refuse

SCRIPT = Path(__file__).with_name("demo.sql")
_MARK = "demo.sql"


def command(
    out: Annotated[Path, typer.Option(help="folder for script, state and answers")] = Path(
        "tidemill-demo"
    ),
    master: Master = None,
) -> None:
    """Watch a dozen queries share one stream; answers are kept as Parquet."""
    with reported():
        folder = _fresh(out.absolute())
        script = shutil.copy(SCRIPT, folder / _MARK)
        with (
            Board() as board,
            Engine(folder / "state", master, to_run=True, notice=board.working) as engine,
            stopping(engine.stop) as signals,
        ):
            engine.sql(Path(script).read_text(), folder)
            for query in engine.catalog.queries():
                engine.query(query.name).subscribe(board.watcher(query))
            # Small ticks, so that there is something to watch.
            engine.sql("SET tick_rows = 200000")
            report = engine.run("flush", board.tick)
    print(f"\n{summary(report, bool(signals))}", file=sys.stderr)
    print(f"answers: {folder / 'answers'} (Parquet, a folder per query)", file=sys.stderr)
    print(f"script:  {script}", file=sys.stderr)


def _fresh(folder: Path) -> Path:
    """An empty folder; an earlier demo is cleared away, anything else is left alone."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / _MARK).exists():
            refuse("E_DEMO", f"{folder} holds something else", hint="name another folder: --out")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
