"""Pictures of what the benchmarks measured, drawn from their JSON.

tidemill bench plots bench/results/sharing.json docs/images/sharing.svg
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

COLOURS = {
    "tidemill": "#0b6e8f",
    "spark": "#d1721f",
    "spark-rocksdb": "#e8b04a",
    "flink": "#b03a6b",
    "bare": "#777777",
}
PROFILES = {
    "one": ("one group-by, top 10 and HAVING", "#0b6e8f", "o"),
    "full": ("full output", "#5a9e3a", "s"),
    "mixed": ("50 predicates, 5 group-bys, 6 aggregates", "#8a5ab5", "^"),
}
PARTS = {"total": "#222222", "jvm": "#d1721f", "workers": "#0b6e8f", "driver": "#5a9e3a"}
STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.hashsalt": "tidemill",  # the same figures give the same file
    "svg.fonttype": "none",
}


def plot_sharing(result: Path, picture: Path) -> None:
    """Seconds by number of queries: beside the peers, and by profile."""
    sections = json.loads(result.read_text())["sections"]
    profiles = [name for name in PROFILES if name in sections]
    with mpl.rc_context(STYLE):
        panels = int("peers" in sections) + int(bool(profiles))
        figure = Figure(figsize=(5.2 * panels, 4.0), layout="constrained")
        axes = iter(figure.subplots(1, panels, squeeze=False)[0])
        if "peers" in sections:
            _draw_peers(next(axes), sections["peers"])
        if profiles:
            _draw_profiles(next(axes), {name: sections[name] for name in profiles})
        save(figure, picture)


def _draw_peers(axes: Axes, section: dict[str, Any]) -> None:
    for name in ("spark", "spark-rocksdb", "flink", "tidemill"):
        points = series(section, name)
        if points:
            axes.plot(*zip(*points, strict=True), marker="o", color=COLOURS[name], label=name)
        _draw_stopped(axes, section, name)
    axes.axhline(_median(section["bare"]), color=COLOURS["bare"], ls="--", lw=1, label="bare scan")
    _queries_axis(axes, section)
    axes.set(yscale="log", ylabel="seconds", title="CSV files, beside others")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.legend(loc="best")


def _draw_stopped(axes: Axes, section: dict[str, Any], name: str) -> None:
    """An arrow upwards where a run was stopped, a cross where it failed."""
    top = max((seconds for _, seconds in series(section, name)), default=1.0)
    for count, timing in _runs(section, name):
        if timing["failure"]:
            mark, height = ("^", timing["stopped_s"]) if timing["stopped_s"] else ("x", top)
            axes.plot([count], [height], marker=mark, ms=9, color=COLOURS[name], ls="none")
            axes.annotate(
                timing["failure"].split(":")[0],
                (count, height),
                textcoords="offset points",
                xytext=(8, -3),
                fontsize=7,
            )


def _draw_profiles(axes: Axes, sections: dict[str, dict[str, Any]]) -> None:
    for name, section in sections.items():
        label, colour, marker = PROFILES[name]
        points = series(section, "tidemill")
        axes.plot(*zip(*points, strict=True), marker=marker, color=colour, label=label)
        _queries_axis(axes, section)
    bare = min(_median(section["bare"]) for section in sections.values())
    axes.axhline(bare, color=COLOURS["bare"], ls="--", lw=1, label="bare scan")
    axes.set(ylabel="seconds", title="Parquet files, Tidemill by kind of query", ylim=(0, None))
    axes.legend(loc="upper left")


def _queries_axis(axes: Axes, section: dict[str, Any]) -> None:
    counts = sorted({int(name.split()[1]) for name in section if " " in name})
    axes.set(xscale="log", xlabel="queries")
    axes.set_xticks(counts, [f"{count:,}" for count in counts])
    axes.minorticks_off()


def series(section: dict[str, Any], name: str) -> list[tuple[int, float]]:
    """Number of queries and median seconds of one contender, where it finished."""
    return [(count, _median(timing)) for count, timing in _runs(section, name) if timing["seconds"]]


def _runs(section: dict[str, Any], name: str) -> list[tuple[int, dict[str, Any]]]:
    named = (key.split() for key in section if key.startswith(f"{name} "))
    return sorted(
        ((int(count), section[f"{name} {count}"]) for _, count in named), key=lambda pair: pair[0]
    )


def _median(timing: dict[str, Any]) -> float:
    ordered = sorted(timing["seconds"])
    middle = len(ordered) // 2
    return float(ordered[middle] if len(ordered) % 2 else sum(ordered[middle - 1 : middle + 1]) / 2)


def plot_growth(result: Path, picture: Path) -> None:
    """Peak memory by part and bytes of state, as queries, groups and slices grow."""
    studies = json.loads(result.read_text())["growth"]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.6 * len(studies), 3.6), layout="constrained")
        all_axes = figure.subplots(1, len(studies), squeeze=False, sharey=True)[0]
        for axes, (name, points) in zip(all_axes, studies.items(), strict=True):
            _draw_growth(axes, name, points)
        all_axes[0].set_ylabel("MiB, peak")
        figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
        save(figure, picture)


def _draw_growth(axes: Axes, name: str, points: list[dict[str, Any]]) -> None:
    sizes = [point["size"] for point in points]
    for part, colour in PARTS.items():
        # Where there are no workers, their line has no point: zero has no logarithm.
        used = [point["memory"].get(part, 0) / 2**20 or None for point in points]
        axes.plot(sizes, used, marker="o", ms=4, color=colour, label=part)
    state = [point["state_bytes"] / 2**20 for point in points]
    axes.plot(sizes, state, marker="s", ms=4, ls=":", color="#b03a6b", label="state on disk")
    axes.set(xscale="log", yscale="log", xlabel=name)
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.minorticks_off()


def plot_frequent(result: Path, picture: Path) -> None:
    """The values that FREQUENT and the sketch find above its threshold, by length of the lists."""
    found = json.loads(result.read_text())["frequent"]
    streams = list(dict.fromkeys(one["stream"] for one in found))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.2 * len(streams), 4.0), layout="constrained")
        axes = figure.subplots(1, len(streams), squeeze=False, sharey=True)[0]
        for place, stream in zip(axes, streams, strict=True):
            _draw_recall(place, [one for one in found if one["stream"] == stream])
            place.set_title(stream, loc="left")
        axes[0].set_ylabel("found of all above the threshold")
        axes[-1].legend(loc="lower right")
        save(figure, picture)


def _draw_recall(axes: Axes, found: list[dict[str, Any]]) -> None:
    colours = ("#0b6e8f", "#5a9e3a", "#8a5ab5")
    sizes = sorted({one["subwindow_rows"] for one in found})
    for colour, rows in zip(colours, sizes, strict=False):
        mine = [o for o in found if o["subwindow_rows"] == rows and o["contender"] == "frequent"]
        points = [(one["k"], one["recall"]) for one in mine]
        axes.plot(*zip(*points, strict=True), "-o", color=colour, label=f"FREQUENT, {rows} rows")
    last = max(o["contender"] for o in found if o["contender"].startswith("items"))
    points = [
        (o["k"], o["recall"])
        for o in found
        if o["contender"] == last and o["subwindow_rows"] == sizes[-1]
    ]
    label = f"APPROX_TOP_K, 2^{last.split()[1]} places"
    axes.plot(*zip(*points, strict=True), "--", color="#d1721f", label=label)
    axes.set_xlabel("k, the length of a list")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share:.0%}"))


def save(figure: Figure, picture: Path) -> None:
    picture.parent.mkdir(parents=True, exist_ok=True)
    # What a drawing would say of its maker: the same figures are to give the same file.
    said = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(picture, dpi=130, metadata=said if picture.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(prog="tidemill bench plots", description=__doc__)
    parser.add_argument("result", type=Path)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    is_growth = "growth" in json.loads(options.result.read_text())
    (plot_growth if is_growth else plot_sharing)(options.result, options.picture)


if __name__ == "__main__":
    main()
