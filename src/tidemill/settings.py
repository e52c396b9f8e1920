"""The named settings of a home, as `SET name = value` changes them.

>>> Settings().with_value("tick_files", "4").tick_files
4
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from tidemill.durations import parse_duration, render_duration
from tidemill.errors import listing, refuse, suggest

SHARING_MODES = ("auto", "none", "shared", "weave", "triweave")
SCANS = ("auto", "catalyst")
SCHEDULES = (
    "none",
    "aggressive",
    "conservative",
    "conservative-late",
    "conservative-late-pending",
    "hybrid",
    "hybrid-late",
    "hybrid-late-pending",
    "free",
)
ON_DEMAND, NO_PROMISES, EVERY = "on demand", "none", "every "
SCHEDULE_COSTS = ("machine", "papers")
# The steps of the optimiser, in the order in which it takes them, and what each decides.
STEP_SENTENCES = {
    "slices": "equal keys and predicate: one set of slices for any windows",
    "predicates": "equal keys: partials per signature of predicates",
    "routing": "partials per predicate where that makes fewer",
    "weave": "windows that are better kept apart get their own slices",
    "covers": "a predicate that others make up is read from their bits",
    "group_by_tree": "coarser keys are rolled up from a finer sub-aggregation",
    "grouping_sets": "several sub-aggregations are made in one pass over the rows",
}
OPTIMISER_STEPS = tuple(STEP_SENTENCES)


@dataclass(frozen=True)
class Settings:
    """Defaults are for one small machine; each has a line in docs/operating.md."""

    # A tick takes input until one of these is reached: small ticks answer sooner, large
    # ones cost less per row. A single file is never split.
    tick_files: int = 64
    tick_bytes: int = 256 << 20
    tick_rows: int = 1_000_000
    # Hash partitions of the group keys of a synopsis, fixed when it first runs (0: enough to
    # give every core work).
    buckets: int = 0
    # How long an idle run waits before it looks for new input.
    poll_ms: int = 500
    # Staged answers are rolled into one file per query at this size, age, or at stop.
    roll_bytes: int = 64 << 20
    roll_seconds: int = 60
    # A synopsis is written anew, one snapshot a bucket, once it has more than this many
    # pieces for each bucket.
    snapshot_pieces: int = 12
    # Windows without rows that EMIT EMPTY WINDOWS answers in a row; a longer gap is left out.
    most_empty_windows: int = 10_000
    # What counted values of one synopsis may take; queries that would need more are stopped.
    value_memory: int = 256 << 20
    # What is held on disk of a stream that is ahead of those it is put together with; beyond it
    # no more of the stream is taken.
    held_bytes: int = 8 << 30
    # Rows that a tick may make of a join of windows; a query that would make more is stopped.
    most_result_rows: int = 100_000_000
    # Which queries share slices: none, all that can (shared), those that weaving or
    # triweaving puts together, or whichever of these is cheapest (auto).
    sharing: str = "auto"
    # A plan that followed its queries by small steps is made anew when it costs more than
    # expected by so many percent.
    rebuild_percent: int = 25
    # Steps of the optimiser that are left out, as names with commas between.
    steps_off: str = ""
    # Which queries with soft periods run together, and how often.
    schedule: str = "hybrid-late-pending"
    # By whose count EXPLAIN SCHEDULE draws: what runs cost here, or merges as the papers do.
    # What runs goes by the machine's.
    schedule_costs: str = "machine"
    # When a stream without input promises by the clock what is declared of it: as something waits
    # for it (on demand), never (none), or "every 1 second".
    promises: str = ON_DEMAND
    # Who reads Parquet and CSV files: arrays wherever they give the same (auto), or Catalyst.
    scan: str = "auto"

    @cached_property
    def promises_every_us(self) -> int | None:
        """The time between two promises by the clock; None if they are made on demand or never."""
        _, is_periodic, duration = self.promises.partition(EVERY)
        return parse_duration(duration) if is_periodic else None

    def is_on(self, step: str) -> bool:
        """Says whether the optimiser takes this step."""
        if step not in OPTIMISER_STEPS:
            raise ValueError(f"the optimiser has no step '{step}'")
        return step not in self.steps_off.split(", ")

    def with_value(self, name: str, text: str) -> Settings:
        names = {field.name for field in fields(self)}
        if name.lower() not in names:
            refuse(
                "E_SETTING",
                f"no setting '{name}'",
                hint=suggest(name, names),
                detail=listing("settings", sorted(names)),
            )
        return replace(self, **{name.lower(): _read(name.lower(), text)})


def _read(name: str, text: str) -> Any:
    reader = _READERS.get(name, _whole_number)
    return reader(name, text)


def _whole_number(name: str, text: str) -> int:
    least = 0 if name == "buckets" else 1
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        refuse("E_SETTING", f"setting {name} takes a whole number from {least}, not '{text}'")
    return number


def _size(name: str, text: str) -> int:
    """Bytes, also written with a unit: 64 MB, 1 GB."""
    word = text.strip().upper().removesuffix("B").strip()
    shift = {"K": 10, "M": 20, "G": 30}.get(word[-1:], 0)
    digits = word[:-1].strip() if shift else word
    if not digits.isdigit() or int(digits) == 0:
        refuse("E_SETTING", f"setting {name} takes a size such as 64 MB, not '{text}'")
    return int(digits) << shift


def _sharing(_name: str, text: str) -> str:
    return _choice("sharing mode", text, SHARING_MODES)


def _scan(_name: str, text: str) -> str:
    return _choice("scan", text, SCANS)


def _schedule(_name: str, text: str) -> str:
    return _choice("schedule", text, SCHEDULES)


def _promises(_name: str, text: str) -> str:
    """In one spelling."""
    words = " ".join(text.lower().split())
    if not words.startswith(EVERY):
        choices = (ON_DEMAND, NO_PROMISES, f"{EVERY}1 second")
        return _choice("way to make promises", words, choices)
    every_us = parse_duration(words.removeprefix(EVERY))
    if every_us <= 0:
        refuse("E_SETTING", f"the time between two promises is more than zero, not '{text}'")
    return EVERY + render_duration(every_us).lower()


def _schedule_costs(_name: str, text: str) -> str:
    return _choice("count of costs", text, SCHEDULE_COSTS)


def _steps(_name: str, text: str) -> str:
    """In the order in which the steps are taken, each once; nothing switches all on."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    off = {_choice("optimiser step", word, OPTIMISER_STEPS) for word in words}
    return ", ".join(step for step in OPTIMISER_STEPS if step in off)


def _choice(what: str, text: str, choices: tuple[str, ...]) -> str:
    if text.lower() not in choices:
        refuse(
            "E_SETTING",
            f"no {what} '{text}'",
            detail=listing("choices", choices),
            hint=suggest(text, choices),
        )
    return text.lower()


_READERS: dict[str, Callable[[str, str], Any]] = {
    "tick_bytes": _size,
    "roll_bytes": _size,
    "value_memory": _size,
    "held_bytes": _size,
    "scan": _scan,
    "promises": _promises,
    "schedule": _schedule,
    "schedule_costs": _schedule_costs,
    "sharing": _sharing,
    "steps_off": _steps,
}
