"""The shape of a stream of generated packets: the options of `generate:packets`.

>>> PacketModel.from_options({"rate": "500", "seed": "7"}).rate
500
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidemill.connect.generators.contract import BLOCK_US
from tidemill.connect.generators.options import OptionRules

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
        _RULES.check(self)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> PacketModel:
        """The model that `generate:packets?name=value&…` asks for."""
        return cls(**_RULES.values(options))


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
OPTIONS = tuple(_BOUNDS)
_RULES = OptionRules("packets", _BOUNDS, ("zipf", "shape"), ("duration", "disorder"))
