"""A look at the first files of a source, before anything is registered.

Spark would find the same faults at the first tick, file by file and in its own words. A
script whose declaration does not fit its data should hear of it at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.catalog import Stream
from tidemill.errors import Place, listing, refuse, suggest
from tidemill.language.statements import ColumnDef
from tidemill.types import Type

_LOOKED_AT = 3


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
    """Why Spark would not read what is stored as what is declared; empty if it would."""
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
