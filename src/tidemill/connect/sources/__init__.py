"""The ways in which rows come. `contract.py` says what a source is; each kind has a module."""

from __future__ import annotations

from tidemill.catalog import Stream
from tidemill.catalog.addresses import SOURCES
from tidemill.connect.sources.contract import (
    AnySource,
    ArrowBlocks,
    Extent,
    Files,
    Input,
    InputRows,
    Json,
    Position,
    Sight,
    SourceTools,
)

__all__ = [
    "AnySource",
    "ArrowBlocks",
    "Extent",
    "Files",
    "Input",
    "InputRows",
    "Json",
    "Position",
    "Sight",
    "SourceTools",
    "open_source",
]


def open_source(stream: Stream, tools: SourceTools) -> AnySource:
    """The source behind a stream; refuses an address that cannot be read."""
    connector = SOURCES[stream.source.scheme]
    source: AnySource = connector.load("sources")(stream, tools)
    return source
