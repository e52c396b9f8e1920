"""The queries of examples/nexmark over files of the generator: processor time of each.

    tidemill bench nexmark --against duckdb,spark --json bench/results/nexmark.json

Each script is run in a home of its own, and then all of them in one, where they share what they
can. DuckDB reads the same files as one batch and hands its rows over as Arrow, on as many threads
as there are cores. Structured Streaming runs what it has words for. Told are medians of the
processor time of all processes of a contender; registering, and the start of Spark, are left out.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from _harness import Outcome, Timing, print_table, side_by_side, write_json
from _nexmark.contenders import run_duckdb, run_spark, run_tidemill, spark_peer
from _nexmark.in_spark import SPARK
from _nexmark.scripts import query_names
from _peers import Peer

from tidemill.connect.nexmark.generator import nexmark_table

PEERS = ("duckdb", "spark")
TOGETHER = "all together"
# Ours counts by time of arrival, or answers early too.
OTHER_COUNTS = ("q12", "q15", "q16", "q17")


@dataclass(frozen=True)
class Bench:
    """What all measurements have in common."""

    options: argparse.Namespace
    scratch: Path
    data: Path
    peer: Peer

    def contenders(self, query: str) -> dict[str, Callable[[], Outcome]]:
        every = {
            "duckdb": lambda: run_duckdb(query, self.data),
            "spark": lambda: run_spark(query, self.peer),
        }
        against = {name: every[name] for name in PEERS if name in self.options.against}
        if query not in SPARK:
            against.pop("spark", None)
        return {"tidemill": lambda: run_tidemill([query], self.data, self.scratch), **against}

    def measure(self, query: str) -> dict[str, Timing]:
        works = {f"{query}, {name}": work for name, work in self.contenders(query).items()}
        timings = side_by_side(works, self.options.repeats)
        figures = {name.partition(", ")[2]: timing for name, timing in timings.items()}
        if query not in OTHER_COUNTS:
            _check_counts(query, figures)
        return figures

    def together(self) -> Timing:
        work = {TOGETHER: lambda: run_tidemill(self.options.only, self.data, self.scratch)}
        return side_by_side(work, self.options.repeats)[TOGETHER]


def main() -> None:
    options = _options()
    scratch = Path(tempfile.mkdtemp(prefix="tidemill-bench-"))
    try:
        data = _generate(scratch / "data", options)
        bench = Bench(options, scratch, data, spark_peer(scratch, data, options.spark_memory))
        figures = {query: bench.measure(query) for query in options.only}
        bench.peer.close()
        together = bench.together()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    _report(figures, together, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tidemill bench nexmark",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--rate", type=int, default=10_000, help="events a second of stream time")
    parser.add_argument("--repeats", type=int, default=3, help="rounds after one of warm-up")
    parser.add_argument("--only", default=",".join(query_names()), help="queries, with commas")
    parser.add_argument("--against", default="duckdb", help="duckdb, spark or both; or none")
    parser.add_argument("--spark-memory", default="4g", help="of the peer's Java machine")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    options.only = options.only.split(",")
    options.against = [name for name in options.against.split(",") if name != "none"]
    for given, choices in ((options.only, query_names()), (options.against, PEERS)):
        unknown = set(given) - set(choices)
        if unknown:
            parser.error(f"no {', '.join(unknown)}; there are {', '.join(choices)}")
    return options


def _generate(folder: Path, options: argparse.Namespace) -> Path:
    """By the command, in a process of its own: it forks."""
    program = [sys.executable, "-c", "from tidemill.cli import main; main()"]
    words = ["generate", "nexmark", str(folder), "--rows", str(options.events)]
    subprocess.run([*program, *words, "-o", f"rate={options.rate}"], check=True)
    return folder


def _check_counts(query: str, figures: dict[str, Timing]) -> None:
    """A contender that left rows out would be fast for nothing."""
    counts = {name: figures[name].answers for name in ("tidemill", "duckdb") if name in figures}
    if not all(counts.values()) or len(set(counts.values())) > 1:
        raise SystemExit(f"{query}: the contenders differ in their answers: {counts}")


def _report(
    figures: dict[str, dict[str, Timing]], together: Timing, options: argparse.Namespace
) -> None:
    bids = _bid_count(options)
    names = ("tidemill", *options.against)
    rows = [
        [query, *(_told(timings.get(name)) for name in names), _pace(timings["tidemill"], bids)]
        for query, timings in figures.items()
    ]
    blank = [""] * len(options.against)
    total = sum(timings["tidemill"].median for timings in figures.values())
    rows.append(["the sum", f"{total:.2f}", *blank, ""])
    rows.append([TOGETHER, _told(together), *blank, _pace(together, bids)])
    header = ["query", *(f"{name}, CPU s" for name in names), "bids a CPU s"]
    print_table(f"Nexmark, {bids:,} bids", header, rows)
    if options.json:
        told = {
            query: {name: _figure(timing) for name, timing in timings.items()}
            for query, timings in figures.items()
        }
        content = {"events": options.events, "bids": bids, "queries": told}
        write_json(options.json, {**content, "sum": round(total, 3), "together": _figure(together)})


def _bid_count(options: argparse.Namespace) -> int:
    table = nexmark_table("bid", {"rate": str(options.rate), "events": str(options.events)})
    return sum(map(table.rows_in_block, range(table.block_count() or 0)))


def _told(timing: Timing | None) -> str:
    if timing is None:
        return "–"
    return timing.failure or f"{timing.median:.2f}"


def _pace(timing: Timing, bids: int) -> str:
    return f"{bids / timing.median:,.0f}" if timing.seconds else ""


def _figure(timing: Timing) -> dict[str, object]:
    if timing.failure:
        return {"failure": timing.failure}
    details = {name: round(amount, 3) for name, amount in timing.details.items()}
    runs = [round(seconds, 3) for seconds in timing.seconds]
    return {
        "processor": round(timing.median, 3),
        "runs": runs,
        "answers": timing.answers,
        "of_the_last_run": details,
    }


if __name__ == "__main__":
    main()
