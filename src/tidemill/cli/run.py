"""`tidemill run SCRIPT.sql`: register a script's statements and run its streams."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tidemill.cli.failures import reported
from tidemill.cli.interrupts import stopping
from tidemill.cli.memory import MemoryWatch
from tidemill.cli.progress import AnswerPrinter, Progress
from tidemill.engine import Engine, RunReport, many
from tidemill.errors import refuse

Script = Annotated[Path, typer.Argument(help="the SQL script", exists=True, dir_okay=False)]
HomeOption = Annotated[
    Path | None,
    typer.Option(help="where catalog, state and ledgers live [.tidemill/SCRIPT by the script]"),
]
Master = Annotated[str | None, typer.Option(help="Spark master [local, all cores]")]


def command(
    script: Script,
    once: Annotated[bool, typer.Option("--once", help="take the input that is there")] = False,
    flush: Annotated[bool, typer.Option("--flush", help="and close every window")] = False,
    home: HomeOption = None,
    master: Master = None,
    metrics: Annotated[Path | None, typer.Option(help="write what happened as JSON")] = None,
) -> None:
    """Run a script's queries until Ctrl-C, or over the input that is there."""
    if once and flush:
        raise typer.BadParameter("--once and --flush exclude each other; --flush does both")
    with reported(), MemoryWatch() as memory, Progress() as progress:
        engine = Engine(
            home or default_home(script),
            master,
            default_sink="console",
            printer=AnswerPrinter(),
            to_run=True,
            notice=progress.working,
        )
        with engine, stopping(engine.stop) as signals:
            replies = engine.sql(read_script(script), script.absolute().parent)
            if replies:
                print("\n\n".join(replies), flush=True)
            until = "flush" if flush else "idle" if once else "stopped"
            report = engine.run(until, progress.tick) if engine.plan.every_query else RunReport()
            refuse_if_nothing_was_read(report)
    if metrics is not None:
        write_metrics(metrics, report, memory.peak_bytes)
    for reason in report.stopped.values():
        print(reason, file=sys.stderr)
    for stream, reason in report.failed_streams.items():
        print(f"stream {stream} has failed: {reason}", file=sys.stderr)
    print(summary(report, bool(signals)), file=sys.stderr)
    for query, user_error in report.troubles.items():
        print(f"query {query}: the first that raised: {user_error}", file=sys.stderr)
    if report.failed_streams:
        raise typer.Exit(1)


def refuse_if_nothing_was_read(report: RunReport) -> None:
    """Some files left out is news; all of them is a failure."""
    if report.skipped_files and not report.rows_in:
        path, reason = next(iter(report.skipped_files.items()))
        refuse(
            "E_SOURCE",
            f"none of the {many(len(report.skipped_files), 'file')} could be read",
            detail=f"{path}: {reason}",
            hint="they count as taken; start again with a new home when the cause is mended",
        )


def default_home(script: Path) -> Path:
    return script.absolute().parent / ".tidemill" / script.stem


def read_script(script: Path) -> str:
    try:
        return script.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        refuse("E_SCRIPT", f"script {script} cannot be read", detail=str(error))


def write_metrics(path: Path, report: RunReport, peak_bytes: int) -> None:
    content = {**asdict(report), "peak_memory_bytes": peak_bytes}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n")


def summary(report: RunReport, stopped: bool) -> str:
    """One line: what happened, and what did not count."""
    speed = report.rows_in / report.seconds if report.seconds else 0.0
    ending = "stopped" if stopped else "done"
    parts = [
        f"{ending}: {many(report.rows_in, 'row')} in {many(report.ticks, 'tick')}",
        f"{report.seconds:.1f} s ({speed:,.0f} rows/s)",
        f"{many(sum(report.queries.values()), 'answer')} of {many(len(report.queries), 'query')}",
    ]
    parts += [f"{report.rows_late:,} late"] if report.rows_late else []
    parts += [f"{report.rows_corrected:,} corrected"] if report.rows_corrected else []
    parts += [f"{report.rows_malformed:,} malformed"] if report.rows_malformed else []
    raised = sum(report.raised.values())
    parts += [f"{raised:,} values NULL where Spark would have raised"] if raised else []
    parts += [f"{len(report.skipped_files)} files left out"] if report.skipped_files else []
    parts += [f"{many(len(report.stopped), 'query')} stopped"] if report.stopped else []
    failed = len(report.failed_streams)
    parts += [f"{many(failed, 'stream')} failed"] if failed else []
    return " · ".join(parts)
