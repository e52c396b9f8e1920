"""The shape of a stream of generated packets: the options of `generate:packets`.

>>> PacketModel.from_options({"rate": "500", "seed": "7"}).rate
500
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NoReturn

from tidemill.durations import parse_duration
from tidemill.errors import listing, refuse, suggest

BLOCK_US = 1_000_000
# ON/OFF periods are drawn anew each epoch: long enough for bursts of minutes to show, short
# enough that any block is one small drawing away.
EPOCH_BLOCKS = 600


@dataclass(frozen=True)
class PacketModel:
    """Refuses, with E_SOURCE, numbers that describe no stream."""

    seed: int = 1
    rate: int = 10_000  # rows per second of stream time, in the mean
    hosts: int = 1_000
    zipf: float = 1.1  # exponent over hosts; 0 is uniform
    sources: int = 64  # ON/OFF sources; fewer make wilder bursts
    shape: float = 1.5  # Pareto shape of ON and OFF periods; nearer to 1 is heavier
    disorder_us: int = 0  # a row arrives at most this long after its event time
    start_us: int = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
    duration_us: int | None = None  # of event time
    rows: int | None = None

    def __post_init__(self) -> None:
        for name, (least, most) in _BOUNDS.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                _refuse_value(name, value, f"it is {least} to {most}")

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> PacketModel:
        """The model that `generate:packets?name=value&…` asks for."""
        return cls(**{name: _parse_option(name, text) for name, text in options.items()})


_BOUNDS: dict[str, tuple[float, float]] = {
    "seed": (0, 2**32 - 1),
    "rate": (1, 10_000_000),
    "hosts": (2, 1_000_000),
    "zipf": (0, 10),
    "sources": (1, 10_000),
    "shape": (1.01, 100),  # at 1 and below a period has no mean
    # A block looks back over all blocks that its delayed rows come from.
    "disorder_us": (0, EPOCH_BLOCKS * BLOCK_US),
    "start_us": (-(2**55), 2**55),  # some 1,100 years either side of 1970
    "duration_us": (1, 2**55),
    "rows": (0, 2**55),
}
OPTIONS = tuple(field.name for field in fields(PacketModel))
_FRACTIONS = ("zipf", "shape")
_DURATIONS = {"duration": "duration_us", "disorder": "disorder_us"}


def with_microseconds(options: dict[str, str]) -> dict[str, str]:
    """`duration=60s` and the like become the model's microseconds."""
    return {
        _DURATIONS.get(name, name): str(parse_duration(text)) if name in _DURATIONS else text
        for name, text in options.items()
    }


def _parse_option(name: str, text: str) -> Any:
    if name not in OPTIONS:
        refuse(
            "E_SOURCE",
            f"no option '{name}' of generate:packets",
            detail=listing("options", OPTIONS),
            hint=suggest(name, OPTIONS),
        )
    number = float if name in _FRACTIONS else int
    try:
        return number(text)
    except ValueError:
        _refuse_value(name, text, "it is a number" if number is float else "it is a whole number")


def _refuse_value(name: str, value: object, expected: str) -> NoReturn:
    refuse("E_SOURCE", f"option {name} of generate:packets cannot be {value}", detail=expected)
