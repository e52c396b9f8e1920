"""`lines:PATH`: the lines of text files, as they are, in one column."""

from __future__ import annotations

from tidemill.catalog import Stream
from tidemill.connect.sources.contract import SourceTools
from tidemill.connect.sources.files import FileSource
from tidemill.errors import refuse
from tidemill.types import STRING


class LineSource(FileSource):
    """A line has no time of its own, so the stream is stamped on arrival."""

    # An empty line is its end alone.
    least_row_bytes = 1

    def __init__(self, stream: Stream, tools: SourceTools) -> None:
        _check_columns(stream)
        _check_options(stream)
        super().__init__(stream, tools)
        # The whole text is read again, whichever column is asked for.
        self.is_cheap = False


def _check_columns(stream: Stream) -> None:
    kinds = [column.type for column in stream.stored_columns]
    if not stream.stamped_on_arrival or kinds != [STRING]:
        refuse(
            "E_SOURCE",
            f"stream {stream.name} reads lines, which have one column of text and no time",
            hint="declare (line STRING), and to select the time of arrival current_time TIMESTAMP, "
            "with ORDER BY current_time",
        )


def _check_options(stream: Stream) -> None:
    for name, _ in stream.source.options:
        refuse(
            "E_SOURCE",
            f"stream {stream.name}: no option '{name}'",
            hint="lines: takes no options; csv: and json: take those of Spark's readers",
        )
