"""`parquet:`, `csv:`, `json:`: a folder of files read as a stream of files.

A tick is a list of paths, read with `spark.read`, so that Catalyst prunes the columns no
query needs; a micro-batch that arrives as rows could not be pruned any more.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidemill.catalog import Stream
from tidemill.errors import refuse
from tidemill.settings import Settings
from tidemill.spark.catalyst.admission import CORRUPT
from tidemill.spark.sources.base import Input, Progress, ddl, stored
from tidemill.spark.sources.probe import refuse_unfit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_JAVA_CLASS = re.compile(r"^([\w$]+\.)+[\w$]+: |^\[[A-Z_.]+\] ")
# Half-written files: what other writers call theirs until they are whole.
_HIDDEN = (".", "_")
_PARTIAL = (".tmp", ".crc", "._COPYING_", ".inprogress")


@dataclass(frozen=True)
class Found:
    mtime_ns: int
    path: str
    size: int


class FileSource:
    """Files in order of modification time, then name."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._format = stream.source.scheme
        self._place = stream.source.path
        self._options = stream.source.option_map
        self.is_text = self._format in ("csv", "json")
        self.is_cheap = not self.is_text
        self._listed: list[Found] | None = None
        _check_place(stream, self._place)
        if self._format == "parquet":
            refuse_unfit(stream, [found.path for found in self._list()])

    def next_input(self, progress: Progress, settings: Settings, draining: bool) -> Input | None:
        if not draining or self._listed is None:
            self._listed = self._list()
        fresh = [found for found in self._listed if found.path not in progress.files]
        return _bounded(fresh, settings)

    def _list(self) -> list[Found]:
        return sorted(list_files(self._place), key=lambda found: (found.mtime_ns, found.path))

    def is_done(self, progress: Progress) -> bool:
        return True

    def read(self, session: SparkSession, taken: Input, columns: Sequence[str]) -> DataFrame:
        schema = ddl(stored(self._stream, columns))
        return read_files(session, schema, self._format, self._options, taken.files)

    def any_input(self, settings: Settings) -> Input | None:
        return self.next_input(Progress(), settings, draining=False)

    def most_rows(self, taken: Input) -> int | None:
        # No row of the formats is smaller than some bytes; eight is rare even in Parquet.
        return sum(os.path.getsize(path) for path in taken.files) // 8

    def unreadable(self, session: SparkSession, taken: Input) -> dict[str, str]:
        names = [column.name for column in self._stream.stored_columns]
        reasons = {}
        for path in taken.files:
            try:
                one = self.read(session, Input((path,)), names)
                one.write.format("noop").mode("overwrite").save()
            except Exception as error:
                reasons[path] = short_reason(error)
        return reasons


def read_files(
    session: SparkSession,
    schema: str,
    file_format: str,
    options: dict[str, str],
    files: Sequence[str],
) -> DataFrame:
    """The files as rows of a schema; text is parsed permissively, with the bad lines kept."""
    # A path is a name, never a pattern: folders may be called "a[1]".
    reader = session.read.format(file_format).option("__globPaths__", "false")
    for key, value in options.items():
        reader = reader.option(key, value)
    if file_format != "parquet":
        schema += f", {CORRUPT} STRING"
        reader = reader.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", CORRUPT)
    if options.get("header", "").lower() == "true":
        reader = reader.option("enforceSchema", "false")
    return reader.schema(schema).load([f"file:{path}" for path in files])


def list_files(place: str) -> Iterator[Found]:
    """Whole, visible files under a folder, a single file, or a pattern."""
    roots = [place] if os.path.exists(place) else sorted(glob.glob(place))
    for root in roots:
        if os.path.isfile(root):
            yield from _found(root)
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if not name.startswith(_HIDDEN)]
            for name in names:
                if not name.startswith(_HIDDEN) and not name.endswith(_PARTIAL):
                    yield from _found(os.path.join(folder, name))


def short_reason(error: Exception) -> str:
    """The first sentence of a Spark error, without its trace."""
    text = str(error).strip()
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by:")]
    line = (causes[-1].removeprefix("Caused by:") if causes else lines[0] if lines else "").strip()
    return _JAVA_CLASS.sub("", line.split("SQLSTATE")[0]).strip()[:300]


def _found(path: str) -> Iterator[Found]:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return  # moved away between listing and looking
    if status.st_size:  # an empty file has no rows, or is still being written
        yield Found(status.st_mtime_ns, os.path.abspath(path), status.st_size)


def _bounded(files: list[Found], settings: Settings) -> Input | None:
    taken: list[str] = []
    size = 0
    for found in files[: settings.tick_files]:
        if taken and size + found.size > settings.tick_bytes:
            break
        taken.append(found.path)
        size += found.size
    return Input(tuple(taken)) if taken else None


def _check_place(stream: Stream, place: str) -> None:
    is_pattern = any(letter in place for letter in "*?[")
    if os.path.exists(place):
        if os.access(place, os.R_OK):
            return
        refuse("E_SOURCE", f"stream {stream.name} cannot read {place}: permission denied")
    if not (is_pattern and os.path.isdir(os.path.dirname(place))):
        refuse(
            "E_SOURCE",
            f"stream {stream.name} reads {place}, which does not exist",
            hint="paths are relative to the script; create the folder first",
        )
