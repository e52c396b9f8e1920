"""The curves of the study as SVG: a column for each model, a row for each rate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from plots import STYLE, save

from _schedules.costs import MODELS
from _schedules.study import RATES

LINES = {
    "none": ("#9a9a9a", "-"),
    "aggressive": ("#c25b2a", "-"),
    "conservative": ("#1f5fa8", "-"),
    "conservative-late": ("#1f5fa8", "--"),
    "conservative-late-pending": ("#1f5fa8", ":"),
    "hybrid": ("#4f9d69", "-"),
    "hybrid-late": ("#4f9d69", "--"),
    "hybrid-late-pending": ("#4f9d69", ":"),
    "free": ("#7a5aa6", "-."),
}
PICTURES = {
    "throughput": ("executions_per_s", "executions a second", "log"),
    "useful": ("useful_per_s", "useful executions a second", "linear"),
    "latency": ("latency", "updates late, in the mean", "symlog"),
    "staleness": ("staleness_s", "age of answers, seconds", "log"),
}
Rows = Sequence[dict[str, Any]]


def draw_all(rows: Rows, folder: Path) -> list[Path]:
    paths = {name: folder / f"schedules-{name}.svg" for name in PICTURES}
    for name, path in paths.items():
        with mpl.rc_context(STYLE):
            save(_picture(rows, *PICTURES[name]), path)
    return list(paths.values())


def _picture(rows: Rows, figure: str, label: str, scale: str) -> Figure:
    picture = Figure(figsize=(11.0, 5.6), layout="constrained")
    grid = picture.subplots(len(RATES), len(MODELS), sharex=True, sharey="row")
    for line, rate in zip(grid, RATES, strict=True):
        for axes, (model, costs) in zip(line, MODELS.items(), strict=True):
            here = [row for row in rows if (row["model"], row["rate"]) == (model, rate)]
            _draw(axes, here, figure)
            if axes in grid[0]:
                axes.set_title(costs.title, loc="left", fontsize=9)
        _scaled(line[0], scale)
        line[0].set_ylabel(f"{rate} rate\n{label}")
    for axes in grid[-1]:
        axes.set_xlabel("queries")
    picture.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return picture


def _draw(axes: Axes, rows: Rows, figure: str) -> None:
    for policy, (colour, style) in LINES.items():
        mine = [row for row in rows if row["policy"] == policy]
        counts = [row["queries"] for row in mine]
        middle, least, most = zip(*(row["figures"][figure] for row in mine), strict=True)
        axes.plot(counts, middle, style, color=colour, marker="o", ms=3, lw=1.4, label=policy)
        axes.fill_between(counts, least, most, color=colour, alpha=0.08, lw=0)
    axes.set_xticks(counts)


def _scaled(axes: Axes, scale: str) -> None:
    if scale == "symlog":
        axes.set_yscale("symlog", linthresh=0.1)
        axes.set_ylim(0, None)
    else:
        axes.set_yscale(scale)
    if scale == "linear":
        axes.set_ylim(0, None)
    if scale == "log":
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
