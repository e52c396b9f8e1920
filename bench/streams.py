"""What streams over streams, rows without windows, and lateness by arrival cost, as ratios.

    tidemill bench streams --json bench/results/streams.json
    tidemill bench streams --only derived,replay --rows 1000000

Each row of the table is two ways to do something, run in turn in one process: what is measured,
and what it is measured by. Told are the medians of the processor time of all processes, that of
Spark among them, and how often one is the other, beside how often it may be.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from _harness import print_table, write_json
from _streams import arrivals, computed, corrections, derived, handed, replay, selections, unions
from _streams.measuring import Bench, Ratio, Row, measure

PARTS = (derived, unions, computed, handed, selections, arrivals, corrections, replay)
RATIOS = {ratio.name: ratio for part in PARTS for ratio in part.RATIOS}


def main() -> None:
    options = _options()
    bench = Bench(Path(tempfile.mkdtemp(prefix="tidemill-bench-")), options.rows)
    try:
        rows = [measure(ratio, bench, options.repeats) for ratio in options.only]
    finally:
        shutil.rmtree(bench.scratch, ignore_errors=True)
    _report(rows, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tidemill bench streams",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    names = f"rows of the table with commas: {', '.join(RATIOS)}"
    parser.add_argument("--only", type=_ratios, default=list(RATIOS.values()), help=names)
    parser.add_argument("--repeats", type=int, default=3, help="rounds after one of warm-up")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _ratios(text: str) -> list[Ratio]:
    names = text.split(",")
    unknown = sorted(set(names) - RATIOS.keys())
    if unknown:
        raise argparse.ArgumentTypeError(f"no row {unknown[0]}; rows: {', '.join(RATIOS)}")
    return [RATIOS[name] for name in names]


def _report(rows: Sequence[Row], options: argparse.Namespace) -> None:
    lines = []
    for row in rows:
        amounts = [f"{amount:.2f} {row.ratio.unit}" for amount in row.medians]
        bound = f"{row.ratio.most:.2f}{'' if row.holds else ' not met'}"
        lines.append([row.ratio.title, *amounts, f"{row.value:.2f}", bound])
    print_table(f"{options.rows:,} rows", ["what", "measured", "by", "ratio", "at most"], lines)
    if options.json:
        told = {row.ratio.name: _as_data(row) for row in rows}
        write_json(options.json, {"rows": options.rows, "ratios": told})


def _as_data(row: Row) -> dict[str, object]:
    """The figures of a row; ways to measure are no data."""
    data = asdict(row)
    data["ratio"] = {"title": row.ratio.title, "most": row.ratio.most, "unit": row.ratio.unit}
    return {**data, "medians": row.medians, "value": row.value}


if __name__ == "__main__":
    main()
