"""The record and the decision of a tick, and their JSON in the journal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tidemill.connect.sources import Json
from tidemill.scan.contract import FoldReport, read_piece, read_report
from tidemill.schedule import Due
from tidemill.state.store import Version
from tidemill.time import StreamTime


@dataclass(frozen=True)
class TickRecord:
    """Written before a tick touches its input: all that its outcome depends on."""

    stream: str
    number: int
    plan_version: int
    batch_time_us: int
    time: StreamTime
    # The input as its source stores it, None if nothing is taken or nothing of it can be read;
    # what of it is taken by name; and the place where the source goes on.
    portion: Json = None
    names: tuple[str, ...] = ()
    mark: Json = None
    skipped: Mapping[str, str] = field(default_factory=dict)  # files not readable, and why
    flush: bool = False
    # Soft queries that were being answered beside as it began: they go on after a replay.
    carried: tuple[str, ...] = ()

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> TickRecord:
        raw = json.loads(text)
        raw["time"] = StreamTime(**raw["time"])
        if "taken" in raw:
            raw |= _input_of_before(raw.pop("taken"), raw["skipped"])
        raw["carried"], raw["names"] = tuple(raw["carried"]), tuple(raw["names"])
        return TickRecord(**raw)


@dataclass(frozen=True)
class Decision:
    """Written before a tick answers: what was folded, how far time came, what is due."""

    time: StreamTime
    folded: FoldReport = field(default_factory=FoldReport)
    due: tuple[Due, ...] = ()

    def to_json(self) -> str:
        parts = {"time": asdict(self.time), "folded": asdict(self.folded), "due": self.due}
        return json.dumps(parts)

    @staticmethod
    def from_json(text: str) -> Decision:
        raw = json.loads(text)
        return Decision(
            StreamTime(**raw["time"]),
            read_report(raw["folded"]),
            tuple(Due(*due) for due in raw["due"]),
        )


def version_to_json(version: Version) -> str:
    """The pieces of a committed version, and since when they are complete, by synopsis."""
    return json.dumps(asdict(version))


def version_from_json(text: str) -> Version:
    raw: dict[str, Any] = json.loads(text)
    pieces = {key: tuple(map(read_piece, found)) for key, found in raw["pieces"].items()}
    return Version(pieces, raw["complete_from"])


def _input_of_before(raw: dict[str, Any], skipped: Mapping[str, str]) -> dict[str, Json]:
    """Inputs of all sources once had the same fields, and an empty one stood for none."""
    is_span = raw["low"] < raw["high"]
    return {
        "portion": raw if raw["files"] or is_span else None,
        "names": (*raw["files"], *skipped),
        "mark": raw["high"] if is_span else None,
    }
