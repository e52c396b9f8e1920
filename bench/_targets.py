"""The targets of the sharing benchmark, and the tables it prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan

from _harness import Timing, print_table

Section = Mapping[str, Timing]


@dataclass(frozen=True)
class Target:
    """A ratio or rate, and the bound it has to keep."""

    name: str
    value: float
    bound: float
    is_ceiling: bool  # else a floor
    at_least: bool = False  # the other side was stopped, so the true value is larger

    @property
    def met(self) -> bool:
        return self.value <= self.bound if self.is_ceiling else self.value >= self.bound


def targets(sections: Mapping[str, Section]) -> list[Target]:
    """Those for which there are figures."""
    empty: Section = {}
    one, full = sections.get("one", empty), sections.get("full", empty)
    mixed, peers = sections.get("mixed", empty), sections.get("peers", empty)
    found = [
        _ratio("one: 1,000 queries over 1", one, "tidemill 1000", "tidemill 1", 2.0, True),
        _rate("full: answer rows a second, whole run", full, "tidemill 1000", 10e6),
        _rate("full: answer rows a second, after the fold", full, "tidemill 1000", 10e6, _AFTER),
        _ratio("mixed: 1,000 queries over 1", mixed, "tidemill 1000", "tidemill 1", 4.0, True),
        _ratio("peers: spark over tidemill, 10 queries", peers, "spark 10", "tidemill 10", 40.0),
        _ratio("peers: flink over tidemill, 10 queries", peers, "flink 10", "tidemill 10", 5.0),
    ]
    return [target for target in found if target is not None]


# The steps of a tick that make and deliver answers.
_AFTER = ("decide", "answer", "deliver")


def _ratio(
    name: str, section: Section, over: str, under: str, bound: float, is_ceiling: bool = False
) -> Target | None:
    if over not in section or under not in section:
        return None
    value = section[over].at_least / section[under].median
    stopped = section[over].stopped_s is not None
    return None if isnan(value) else Target(name, value, bound, is_ceiling, stopped)


def _rate(
    name: str, section: Section, contender: str, bound: float, steps: tuple[str, ...] = ()
) -> Target | None:
    if contender not in section:
        return None
    timing = section[contender]
    seconds = sum(timing.details.get(step, 0.0) for step in steps) if steps else timing.median
    return Target(name, (timing.answers or 0) / seconds, bound, False) if seconds else None


def print_targets(found: list[Target]) -> None:
    rows = [
        [
            target.name,
            f"{'≥ ' if target.at_least else ''}{target.value:,.2f}",
            f"{'≤' if target.is_ceiling else '≥'} {target.bound:,.0f}",
            "yes" if target.met else "no",
        ]
        for target in found
    ]
    print_table("targets", ["what", "measured", "wanted", "met"], rows)


def print_section(title: str, timings: Section) -> None:
    bare = timings["bare"].median
    header = [
        "contender",
        "seconds",
        "× bare",
        "answers",
        "register s",
        "peak GiB",
        "jvm",
        "workers",
    ]
    print_table(title, header, [_row(timing, bare) for timing in timings.values()])
    for name, timing in timings.items():
        steps = ", ".join(f"{step} {value:.2f}" for step, value in timing.details.items())
        if steps:
            print(f"{name}: {steps}")


def _row(timing: Timing, bare: float) -> list[str]:
    register = timing.details.get("register")
    return [
        timing.name,
        timing.failure or f"{timing.median:.2f}",
        "" if timing.failure else f"{timing.median / bare:.2f}",
        "" if timing.answers is None else f"{timing.answers:,}",
        "" if register is None else f"{register:.2f}",
        *(f"{timing.memory.get(part, 0) / 2**30:.2f}" for part in ("total", "jvm", "workers")),
    ]
