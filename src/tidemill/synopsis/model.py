"""What one synopsis keeps: partials per (slice, keys), for the queries that read them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tidemill.aggregates import Lane
from tidemill.ids import fingerprint
from tidemill.plan.model import Key, Scalar
from tidemill.windows import EdgeClass, WindowSpec


@dataclass(frozen=True)
class Synopsis:
    """Queries of equal stream, WHERE and GROUP BY read one; its edges are theirs together."""

    stream: str
    where: Scalar | None
    keys: tuple[Key, ...]
    lanes: tuple[Lane, ...]
    classes: tuple[EdgeClass, ...]
    windows: tuple[WindowSpec, ...]
    members: tuple[str, ...]

    @cached_property
    def id(self) -> str:
        """Stable over runs: it names the folder of the pieces."""
        where = self.where.sql if self.where else None
        keys = tuple((key.scalar.sql, key.scalar.type.sql) for key in self.keys)
        lanes = tuple((lane.sql, lane.type.sql) for lane in self.lanes)
        cut = (self.classes, self.windows)
        return fingerprint([self.stream.lower(), where, keys, lanes, cut, self.members])

    @property
    def key_columns(self) -> tuple[str, ...]:
        return tuple(key.slot.name for key in self.keys)

    def lane_columns(self, number: int) -> tuple[str, ...]:
        """Names of the columns that carry a lane in partial rows and pieces."""
        return tuple(f"p{number}{part}" for part in self.lanes[number].parts)
