"""Where rows come from. A source says what input there is; a tick takes some and reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tidemill.catalog import Stream
from tidemill.clock import Clock
from tidemill.spark.sources.base import Input, Progress, Source
from tidemill.spark.sources.files import FileSource
from tidemill.spark.sources.generate import GenerateSource
from tidemill.spark.sources.replay import ReplaySource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Input", "Progress", "Source", "open_source"]


def open_source(stream: Stream, session: Callable[[], SparkSession], clock: Clock) -> Source:
    """The source behind a stream; refuses an address that cannot be read."""
    if stream.source.scheme == "generate":
        return GenerateSource(stream, clock)
    if stream.source.scheme == "replay":
        return ReplaySource(stream, session(), clock)
    return FileSource(stream)
