"""The curves of the study as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from plots import STYLE, save

Rows = Sequence[Mapping[str, Any]]
COLOURS = {"A": "#9a9a9a", "B": "#c25b2a", "C": "#1f5fa8", "D": "#4f9d69"}
NAMES = {"A": "no promises", "B": "periodic", "C": "on demand", "D": "latent"}


def draw_all(sections: Mapping[str, Rows], folder: Path) -> list[Path]:
    """One picture of waiting, one of rules and graphs; only of what was run."""
    paths = []
    if {"waiting", "peaks"} <= set(sections):
        paths.append(_drawn(_waiting(sections), folder / "timestamps-waiting.svg"))
    if "ticks" in sections:
        paths.append(_drawn(_ticks(sections["ticks"]), folder / "timestamps-ticks.svg"))
    if {"bursts", "graphs", "slides"} <= set(sections):
        paths.append(_drawn(_rules(sections), folder / "timestamps-rules.svg"))
    return paths


def _drawn(picture: Figure, path: Path) -> Path:
    with mpl.rc_context(STYLE):
        save(picture, path)
    return path


def _waiting(sections: Mapping[str, Rows]) -> Figure:
    with mpl.rc_context(STYLE):
        picture = Figure(figsize=(11.0, 3.6), layout="constrained")
        latency, share, peak = picture.subplots(1, 3)
        rows = [row for row in sections["waiting"] if row["fast"] == 50]
        _by_beats(latency, rows, "latency_s", "mean latency, seconds")
        _by_beats(share, rows, "waiting_share", "share of time in which the union waits")
        _by_beats(peak, sections["peaks"], "peak_items", "most tuples held (steps of 0.2 ms)")
        picture.legend(*peak.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return picture


def _ticks(rows: Rows) -> Figure:
    with mpl.rc_context(STYLE):
        picture = Figure(figsize=(11.0, 3.6), layout="constrained")
        latency, share, peak = picture.subplots(1, 3)
        _by_beats(latency, rows, "latency_s", "mean latency, seconds")
        _by_beats(share, rows, "waiting_share", "share of looks at which rows wait")
        _by_beats(peak, rows, "peak_rows", "most rows held")
        picture.legend(*latency.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return picture


def _by_beats(axes: Axes, rows: Rows, figure: str, label: str) -> None:
    periodic = [row for row in rows if row["variant"] == "B"]
    beats = [row["beats"] for row in periodic]
    axes.plot(beats, [row[figure] for row in periodic], "o-", color=COLOURS["B"], label=NAMES["B"])
    for row in rows:
        variant = row["variant"]
        if variant != "B" and row[figure] > 0:
            axes.axhline(row[figure], color=COLOURS[variant], label=NAMES[variant])
    axes.set(xscale="log", yscale="log", xlabel="promises a second", title=label)
    axes.title.set_fontsize(9)


def _rules(sections: Mapping[str, Rows]) -> Figure:
    with mpl.rc_context(STYLE):
        picture = Figure(figsize=(11.0, 3.6), layout="constrained")
        bursts, graphs, slides = picture.subplots(1, 3)
        _lines(bursts, sections["bursts"], "n", "rule", "latency_s")
        bursts.set(xscale="log", yscale="log", xlabel="tuples in a burst", title="mean latency, s")
        _lines(graphs, sections["graphs"], "filters", "way", "latency_s")
        graphs.set(xlabel="filters between operators that wait", title="mean latency, s")
        _lines(slides, sections["slides"], "slide_s", "way", "burstiness")
        slides.set(xscale="log", yscale="log", xlabel="slide, seconds", title="burstiness")
        for axes in (bursts, graphs, slides):
            axes.title.set_fontsize(9)
            axes.legend()
    return picture


def _lines(axes: Axes, rows: Rows, across: str, by: str, figure: str) -> None:
    for name in dict.fromkeys(row[by] for row in rows):
        line = [row for row in rows if row[by] == name]
        axes.plot([row[across] for row in line], [row[figure] for row in line], "o-", label=name)
