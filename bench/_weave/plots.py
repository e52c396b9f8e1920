"""The curves of the study as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

COLOURS = {
    "NoShare": "#9a9a9a",
    "Shared": "#c25b2a",
    "Random": "#c9b458",
    "Local Search": "#7a5aa6",
    "Insert-then-Weave": "#4f9d69",
    "Weave Share": "#1f5fa8",
    "TriWeave": "#0aa2a8",
    "lower bound": "#222222",
}
# What a drawing would say of its maker: the same figures are to give the same file.
_SAID = ("Creator", "Date", "Format", "Type")
STYLES = {"lower bound": ":", "Random": "--", "Insert-then-Weave": "--", "Local Search": "--"}
mpl.rcParams.update(
    {"svg.hashsalt": "weave", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
)


def draw_all(study: dict[str, Any], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    figures = {
        "costs": _costs(study["sweep"]),
        "gains": _gains(study["sweep"]),
        "queries": _queries(study["competitors"]),
        "skew": _skew(study["skews"]),
        "ablation": _ablation(study["ablation"]),
        "incremental": _incremental(study["incremental"]),
    }
    return [_saved(figure, folder / f"weave-{name}.svg") for name, figure in figures.items()]


def _saved(figure: Any, path: Path) -> Path:
    figure.savefig(path, metadata=dict.fromkeys(_SAID))
    plt.close(figure)
    return path


def _costs(sweep: dict[int, list[dict[str, float]]]) -> Any:
    figure, axes = plt.subplots(
        1, len(sweep), layout="constrained", figsize=(1.5 + 3.6 * len(sweep), 3.4), squeeze=False
    )
    for axis, (count, rows) in zip(axes[0], sweep.items(), strict=True):
        for name in ("NoShare", "Shared", "Weave Share", "TriWeave", "lower bound"):
            _line(axis, rows, "rate", name)
        _label(axis, f"{count} queries", "rows per second", "operations per second")
        axis.set(xscale="log", yscale="log")
    _legend(figure, axes[0][0])
    return figure


def _gains(sweep: dict[int, list[dict[str, float]]]) -> Any:
    figure, axis = plt.subplots(layout="constrained", figsize=(5.6, 3.4))
    shades = ("#9cc3ea", "#4f8fd0", "#1f5fa8", "#0b2f5c")
    for shade, (count, rows) in zip(shades, sweep.items(), strict=False):
        for name, style in (("Weave Share", "-"), ("TriWeave", "--")):
            gains = [100 * (1 - row[name] / row["Shared"]) for row in rows]
            rates = [row["rate"] for row in rows]
            axis.plot(rates, gains, style, color=shade, label=f"{name}, {count}")
    _label(axis, "Cheaper than Shared by", "rows per second", "per cent")
    axis.set(xscale="log", ylim=(-2, 100))
    axis.legend(frameon=False)
    return figure


def _queries(rows: Sequence[dict[str, float]]) -> Any:
    rates = sorted({row["rate"] for row in rows})
    figure, axes = plt.subplots(
        1, len(rates), layout="constrained", figsize=(1.5 + 3.6 * len(rates), 3.4), squeeze=False
    )
    for axis, rate in zip(axes[0], rates, strict=True):
        here = [row for row in rows if row["rate"] == rate]
        for name in COLOURS:
            _line(axis, [row for row in here if name in row], "queries", name, marker="o")
        _label(axis, f"{rate} rows per second", "queries", "operations per second")
        axis.set(yscale="log")
    _legend(figure, axes[0][0])
    return figure


def _skew(rows: Sequence[dict[str, float]]) -> Any:
    figure, axis = plt.subplots(layout="constrained", figsize=(5.2, 3.2))
    for count, shade in zip(
        sorted({row["queries"] for row in rows}), ("#4f8fd0", "#0b2f5c"), strict=False
    ):
        here = [row for row in rows if row["queries"] == count]
        gains = [100 * row["gain"] for row in here]
        axis.plot([row["skew"] for row in here], gains, "o-", color=shade, label=f"{count} queries")
    _label(axis, "Weave Share cheaper than Shared by", "skew of the slides", "per cent")
    axis.legend(frameon=False)
    return figure


def _ablation(rows: Sequence[dict[str, Any]]) -> Any:
    figure, axes = plt.subplots(1, 2, layout="constrained", figsize=(8.4, 3.4))
    names = ("naive", "lookup", "bitmap", "probing", "ours")
    for axis, key in zip(axes, ("visits", "seconds"), strict=True):
        for name in names:
            here = [row for row in rows if row["variant"] == name and key in row]
            if here:
                axis.plot([r["queries"] for r in here], [r[key] for r in here], "o-", label=name)
        title = {"visits": "Edges visited", "seconds": "Processor time"}[key]
        _label(axis, title, "queries", {"visits": "edges", "seconds": "seconds"}[key])
        axis.set(yscale="log")
    _legend(figure, axes[1])
    return figure


def _incremental(rows: Sequence[dict[str, Any]]) -> Any:
    figure, axes = plt.subplots(1, 2, layout="constrained", figsize=(8.4, 3.2))
    names = [row["epsilon"] for row in rows]
    axes[0].bar(names, [row["rebuilds"] for row in rows], color="#4f8fd0")
    axes[1].bar(
        names, [100 * row["largest error"] for row in rows], color="#c9dcf0", label="largest"
    )
    axes[1].bar(names, [100 * row["mean error"] for row in rows], color="#1f5fa8", label="mean")
    _label(axes[0], "Times made anew", "tolerance ε", "")
    _label(axes[1], "Dearer than a plan made anew by", "tolerance ε", "per cent")
    axes[1].legend(frameon=False)
    return figure


def _legend(figure: Any, axis: Any) -> None:
    """Beside the axes, where it covers nothing."""
    figure.legend(*axis.get_legend_handles_labels(), frameon=False, loc="outside right upper")


def _line(axis: Any, rows: Sequence[dict[str, float]], x: str, name: str, marker: str = "") -> None:
    if rows:
        axis.plot(
            [row[x] for row in rows],
            [row[name] for row in rows],
            STYLES.get(name, "-"),
            marker=marker,
            markersize=3,
            color=COLOURS[name],
            label=name,
        )


def _label(axis: Any, title: str, x: str, y: str) -> None:
    axis.set_title(title, loc="left", fontsize=10)
    axis.set(xlabel=x, ylabel=y)
