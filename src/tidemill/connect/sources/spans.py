"""An input that is a span of a numbered source: block numbers, microseconds."""

from __future__ import annotations

from dataclasses import dataclass

from tidemill.connect.sources.contract import Json


@dataclass(frozen=True)
class NumberSpan:
    """From `low` up to, not including, `high`, where the next span begins."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low >= self.high:
            raise ValueError(f"a span from {self.low} to {self.high} holds nothing")

    @property
    def names(self) -> tuple[str, ...]:
        return ()

    @property
    def mark(self) -> Json:
        return self.high

    def to_json(self) -> Json:
        return {"low": self.low, "high": self.high}

    @staticmethod
    def restore(stored: Json) -> NumberSpan:
        return NumberSpan(stored["low"], stored["high"])
