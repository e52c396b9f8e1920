"""`parquet:`, `csv:`, `json:`: a folder of files, taken file by file.

The first files are looked at before anything is registered. Spark would find the same faults at
the first tick, file by file and in its own words; a script whose declaration does not fit its
data should hear of it at once.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.catalog import Stream
from tidemill.connect.sources.contract import (
    Files,
    InputRows,
    Json,
    Position,
    Sight,
    SourceReader,
    SourceTools,
    is_text_format,
    stored_columns,
)
from tidemill.errors import Place, listing, refuse, suggest
from tidemill.language.statements import ColumnDef
from tidemill.settings import Settings
from tidemill.types import Type

_LOOKED_AT = 3
_HEAD_BYTES = 1 << 16


def refuse_unfit(stream: Stream, paths: Sequence[str]) -> None:
    """Refuse if none of the first Parquet files can be read as the stream declares."""
    schemas, reasons = [], []
    for path in paths[:_LOOKED_AT]:
        try:
            schemas.append((path, pq.read_schema(path)))
        except (OSError, pa.ArrowException) as error:
            reasons.append(f"{path}: {str(error).splitlines()[0]}")
    if reasons and not schemas:
        refuse(
            "E_SOURCE",
            f"stream {stream.name} reads files that are not Parquet",
            detail="\n".join(reasons),
            hint="csv: and json: read text",
        )
    if schemas:
        check_schema(f"stream {stream.name}", stream.stored_columns, *schemas[0])


def check_schema(
    relation: str,
    columns: Sequence[ColumnDef],
    path: str,
    schema: pa.Schema,
    place: Place | None = None,
) -> None:
    """Refuse if a Parquet file cannot be read as the relation declares."""
    types = {field.name.lower(): field.type for field in schema}
    for column in columns:
        stored = types.get(column.name.lower())
        if stored is None:
            refuse(
                "E_SOURCE",
                f"{relation} declares column '{column.name}', which its files lack",
                detail=f"{path}\n{listing('columns', schema.names)}",
                hint=suggest(column.name, schema.names),
                place=place,
            )
        if reason := misfit(column.type, stored):
            refuse(
                "E_SOURCE",
                f"{relation} declares {column.name} as {column.type}; {reason}",
                detail=path,
                place=place,
            )


def misfit(declared: Type, stored: pa.DataType) -> str:
    """The reason why Spark would not read a stored column as it is declared; empty if it would."""
    if pa.types.is_timestamp(stored) and stored.unit == "ns":
        return "the file has nanoseconds, which Spark does not read: write microseconds"
    if not declared.is_atomic or _kind(declared.arrow) == _kind(stored):
        narrow = declared.is_integer and pa.types.is_integer(stored)
        wider = narrow and stored.bit_width > declared.arrow.bit_width
        return f"the file has {stored}, which does not fit" if wider else ""
    widened = declared.name == "DOUBLE" and pa.types.is_integer(stored) and stored.bit_width < 64
    return "" if widened or declared.is_decimal else f"the file has {stored}"


def _kind(stored: pa.DataType) -> str:
    tests = {
        "integer": pa.types.is_integer,
        "float": pa.types.is_floating,
        "decimal": pa.types.is_decimal,
        "timestamp": pa.types.is_timestamp,
        "date": pa.types.is_date,
        "boolean": pa.types.is_boolean,
    }
    if pa.types.is_dictionary(stored):
        return _kind(stored.value_type)
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    if any(test(stored) for test in texts):
        return "text"
    return next((kind for kind, test in tests.items() if test(stored)), "other")


# Half-written files: what other writers call theirs until they are whole.
_HIDDEN = (".", "_")
_COMING = (".tmp", "._COPYING_", ".inprogress")
_PARTIAL = (*_COMING, ".crc")


@dataclass(frozen=True)
class ListedFile:
    mtime_ns: int
    path: str
    size: int


@dataclass(frozen=True)
class FileInput:
    """Whole files."""

    paths: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return self.paths

    @property
    def mark(self) -> Json:
        return None

    def to_json(self) -> Json:
        return {"files": self.paths}


class FileSource(SourceReader[FileInput]):
    """Files in order of modification time, then name."""

    # Few rows of the formats are smaller, even in Parquet.
    least_row_bytes = 8

    def __init__(self, stream: Stream, tools: SourceTools) -> None:
        self._stream = stream
        self._place = stream.source.path
        self.is_text = is_text_format(stream.format)
        self.is_cheap = not self.is_text
        self._listed: list[ListedFile] | None = None
        self._sight = Sight()
        _check_place(stream, self._place)
        if stream.format == "parquet":
            refuse_unfit(stream, [file.path for file in self._list()])

    def next_input(
        self, position: Position, settings: Settings, draining: bool
    ) -> FileInput | None:
        if not draining or self._listed is None:
            self._listed = self._list()
        fresh = [file for file in self._listed if file.path not in position.names]
        return _bounded(fresh, settings)

    def restore(self, stored: Json) -> FileInput:
        return FileInput(tuple(stored["files"]))

    def is_done(self, position: Position) -> bool:
        return True

    def read(self, portion: FileInput, columns: Sequence[str]) -> InputRows:
        stream = self._stream
        options = stream.source.option_map
        return Files(stream.format, portion.paths, stored_columns(stream, columns), options)

    def any_input(self, settings: Settings) -> FileInput | None:
        return self.next_input(Position(), settings, draining=False)

    def most_rows(self, portion: FileInput) -> int | None:
        size = sum(os.path.getsize(path) for path in portion.paths)
        return size // self.least_row_bytes

    def rows_per_tick(self, settings: Settings) -> float | None:
        portion = self.any_input(settings)
        if portion is None:
            return None
        rows = [_about_rows(path, self.is_text) for path in portion.paths[:_LOOKED_AT]]
        return sum(rows) / len(rows) * len(portion.paths)

    def parts(self, portion: FileInput) -> Mapping[str, FileInput]:
        return {path: FileInput((path,)) for path in portion.paths}

    def without(self, portion: FileInput, names: Collection[str]) -> FileInput | None:
        paths = tuple(path for path in portion.paths if path not in names)
        return FileInput(paths) if paths else None

    def sight(self) -> Sight:
        return self._sight

    def _list(self) -> list[ListedFile]:
        listing = FolderListing()
        files = listing.of(self._place)
        self._sight = Sight(listing.coming, listing.failure)
        return sorted(files, key=lambda file: (file.mtime_ns, file.path))


def _about_rows(path: str, is_text: bool) -> float:
    """Parquet says it; of text, lines are taken to be as long as the first ones."""
    if is_text:
        with open(path, "rb") as file:
            head = file.read(_HEAD_BYTES)
        return head.count(b"\n") * os.path.getsize(path) / max(1, len(head))
    try:
        return float(pq.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException):
        return 0.0


def list_files(place: str) -> list[ListedFile]:
    """Whole, visible files under a folder, a single file, or a pattern."""
    return FolderListing().of(place)


@dataclass
class FolderListing:
    """A listing of files, and what it met besides: one of those that are still being written, and
    the reason why some of the rest could not be seen."""

    coming: str = ""
    failure: str = ""

    def of(self, place: str) -> list[ListedFile]:
        is_there = os.path.exists(place)
        roots = [place] if is_there else sorted(glob.glob(place))
        if not (is_there or roots or is_pattern(place)):
            self.failure = f"{place} does not exist"
        return [file for root in roots for file in self._under(root)]

    def _under(self, root: str) -> Iterator[ListedFile]:
        if os.path.isfile(root):
            yield from _listed(root)
        for folder, folders, names in os.walk(root, onerror=self._note):
            folders[:] = [name for name in folders if not name.startswith(_HIDDEN)]
            for name in names:
                path = os.path.join(folder, name)
                if name.endswith(_COMING):
                    self.coming = f"{path} is still being written"
                elif not name.startswith(_HIDDEN) and not name.endswith(_PARTIAL):
                    yield from _listed(path)

    def _note(self, error: OSError) -> None:
        self.failure = f"{error.filename}: {error.strerror}"


def is_pattern(place: str) -> bool:
    return any(letter in place for letter in "*?[")


def _listed(path: str) -> Iterator[ListedFile]:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return  # moved away between listing and looking
    if status.st_size:  # an empty file has no rows, or is still being written
        yield ListedFile(status.st_mtime_ns, os.path.abspath(path), status.st_size)


def _bounded(files: list[ListedFile], settings: Settings) -> FileInput | None:
    paths: list[str] = []
    size = 0
    for file in files[: settings.tick_files]:
        if paths and size + file.size > settings.tick_bytes:
            break
        paths.append(file.path)
        size += file.size
    return FileInput(tuple(paths)) if paths else None


def _check_place(stream: Stream, place: str) -> None:
    if os.path.exists(place):
        if os.access(place, os.R_OK):
            return
        refuse("E_SOURCE", f"stream {stream.name} cannot read {place}: permission denied")
    if not (is_pattern(place) and os.path.isdir(os.path.dirname(place))):
        refuse(
            "E_SOURCE",
            f"stream {stream.name} reads {place}, which does not exist",
            hint="paths are relative to the script; create the folder first",
        )
