"""Tables of ratios. A row: what is measured, what it is measured by, and how often that it may
be."""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from _harness import print_table, tell, write_json
from _processor import processor_seconds
from _rows import Shape, make_files

from tidemill import Engine
from tidemill.engine.run import RunReport


@dataclass(frozen=True)
class Bench:
    """Where files go, and how many rows there are."""

    scratch: Path
    rows: int

    def packets(self, ticks: int, files_per_tick: int) -> Path:
        """A folder of Parquet files, made once."""
        folder = self.scratch / f"packets-{ticks}-{files_per_tick}"
        if not folder.exists():
            make_files(folder, Shape(rows=self.rows), -(-self.rows // ticks), files_per_tick)
        return folder

    def new_folder(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self.scratch))


@dataclass(frozen=True)
class Figure:
    """One run: how much it took, and what it came to, which is the same on both sides."""

    amount: float
    result: object = None


Way = Callable[[Bench], Figure]


@dataclass(frozen=True)
class Ratio:
    """Two ways; `unit` is that of the amounts."""

    name: str
    title: str
    most: float
    measured: Way
    base: Way
    unit: str = "CPU s"


@dataclass(frozen=True)
class Row:
    """What was measured."""

    ratio: Ratio
    measured: list[float] = field(default_factory=list)
    base: list[float] = field(default_factory=list)

    @property
    def medians(self) -> tuple[float, float]:
        return statistics.median(self.measured), statistics.median(self.base)

    @property
    def value(self) -> float:
        measured, base = self.medians
        return round(measured / base, 3)

    @property
    def holds(self) -> bool:
        return self.value <= self.ratio.most


def measure(ratio: Ratio, bench: Bench, repeats: int) -> Row:
    """Both ways in turn, after one round of warm-up, so that a slow minute hits both."""
    row, results = Row(ratio), []
    for turn in range(repeats + 1):
        for way, amounts in ((ratio.measured, row.measured), (ratio.base, row.base)):
            figure = way(bench)
            results.append(figure.result)
            side = "measured" if amounts is row.measured else "by"
            tell(f"{ratio.name}, {side}: {figure.amount:.2f} {ratio.unit}")
            amounts += [round(figure.amount, 3)] * bool(turn)
    if any(result != results[0] for result in results):
        raise SystemExit(f"{ratio.name}: the two sides differ: {results}")
    return row


def timed(work: Callable[[], object]) -> float:
    """Seconds of all processors, Spark's among them."""
    before_s = processor_seconds()
    work()
    return processor_seconds() - before_s


def run_script(
    bench: Bench, script: str, spark: bool = False, registering: bool = False
) -> tuple[float, RunReport]:
    """What a run to the end takes in a home of its own, with the registering of its queries if
    that is asked for. With Spark, that has started before."""
    home = bench.new_folder()
    reports: list[RunReport] = []
    try:
        with Engine(home / "home") as engine:
            if spark:
                engine.session  # noqa: B018
            registered_s = timed(lambda: engine.sql(script))
            used_s = timed(lambda: reports.append(engine.run("flush")))
    finally:
        shutil.rmtree(home)
    return used_s + registered_s * registering, reports[0]


def run_table(prog: str, doc: str, ratios: Sequence[Ratio], rows: int) -> None:
    """A benchmark that is such a table, from its options to its results; `rows` are those of the
    input unless told."""
    named = {ratio.name: ratio for ratio in ratios}
    options = _options(prog, doc, named, rows)
    bench = Bench(Path(tempfile.mkdtemp(prefix="tidemill-bench-")), options.rows)
    try:
        table = [measure(ratio, bench, options.repeats) for ratio in options.only]
    finally:
        shutil.rmtree(bench.scratch, ignore_errors=True)
    _report(table, options)


def _options(prog: str, doc: str, ratios: Mapping[str, Ratio], rows: int) -> argparse.Namespace:
    def chosen(text: str) -> list[Ratio]:
        names = text.split(",")
        if unknown := sorted(set(names) - ratios.keys()):
            raise argparse.ArgumentTypeError(f"no row {unknown[0]}; rows: {', '.join(ratios)}")
        return [ratios[name] for name in names]

    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog=prog, description=doc, formatter_class=formatter)
    parser.add_argument("--rows", type=int, default=rows)
    names = f"rows of the table with commas: {', '.join(ratios)}"
    parser.add_argument("--only", type=chosen, default=list(ratios.values()), help=names)
    parser.add_argument("--repeats", type=int, default=3, help="rounds after one of warm-up")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


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
