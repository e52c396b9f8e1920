"""Tables: read once from their source and checked, then joined in from the file that keeps them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.catalog import Table
from tidemill.connect.sources import Files
from tidemill.connect.sources.files import check_schema, list_files
from tidemill.errors import Place, TidemillError, listing, refuse, suggest
from tidemill.scan.arrays.files import all_rows
from tidemill.scan.arrays.program import table_rows
from tidemill.scan.routes import table_is_plain
from tidemill.spark.catalyst.admission import CORRUPT
from tidemill.spark.on_demand import AskSession
from tidemill.spark.readers import read_files, short_reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILE = "_file"


def read_table(
    session: AskSession, table: Table, scan_setting: str, place: Place | None
) -> pa.Table:
    """All rows of a table as it is declared; anything that does not fit is refused.

    Plain files are read on arrays, where Spark would read the same. Who refuses is Spark.
    """
    paths = tuple(sorted(file.path for file in list_files(table.source.path)))
    if not paths:
        _refuse_nothing(table, place)
    if table_is_plain(table, scan_setting):
        rows = all_rows(table_rows(table), paths)
        if rows is not None:
            return rows.rename_columns([column.name for column in table.columns])
    files = Files(table.format, paths, table.columns, table.source.option_map)
    return _read_by_spark(session(f"table {table.name}"), table, files, place)


def _read_by_spark(
    session: SparkSession, table: Table, files: Files, place: Place | None
) -> pa.Table:
    try:
        _check_columns(session, table, files, place)
        return _without_marks(table, _frame(session, files).toArrow(), place)
    except TidemillError:
        raise
    except Exception as error:
        refuse(
            "E_SOURCE",
            f"table {table.name} cannot be read as its columns",
            detail=f"{table.source.path}\n{short_reason(error)}",
            place=place,
        )


@lru_cache(maxsize=64)  # a new tick must not look into the file again
def kept_table(session: SparkSession, path: Path) -> DataFrame:
    """The rows that a file keeps; it never changes."""
    return session.read.option("__globPaths__", "false").parquet(f"file:{path}")


def _frame(session: SparkSession, files: Files) -> DataFrame:
    frame = read_files(session, files)
    return frame.selectExpr("*", f"_metadata.file_path AS {_FILE}") if files.is_text else frame


def _without_marks(table: Table, rows: pa.Table, place: Place | None) -> pa.Table:
    """The rows of a text without what tells of their parsing, which must have gone well."""
    if CORRUPT not in rows.column_names:
        return rows
    wrong = rows.filter(rows.column(CORRUPT).is_valid())
    if len(wrong):
        file, line = (wrong.column(name)[0].as_py() for name in (_FILE, CORRUPT))
        refuse(
            "E_SOURCE",
            f"table {table.name} has a line that does not parse as its columns",
            detail=f"{unquote(urlparse(file).path)}\n{line.strip()}",
            hint="a table is read whole or not at all: mend the line, or declare other types",
            place=place,
        )
    return rows.drop_columns([CORRUPT, _FILE])


def _check_columns(session: SparkSession, table: Table, files: Files, place: Place | None) -> None:
    """Refuse columns that are not there, which Spark would fill with NULLs.

    Of CSV it is the columns' number that counts, or the header, and Spark compares both.
    """
    if files.format == "parquet":
        for path in files.paths:
            check_schema(f"table {table.name}", table.columns, path, pq.read_schema(path), place)
    if files.format == "json":
        reader = session.read.format("json").options(**files.options)
        names = reader.load([f"file:{path}" for path in files.paths]).columns
        for column in table.columns:
            if column.name.lower() not in map(str.lower, names):
                _refuse_column(table, column.name, names, place)


def _refuse_column(table: Table, name: str, names: Sequence[str], place: Place | None) -> NoReturn:
    refuse(
        "E_SOURCE",
        f"table {table.name} declares column '{name}', which its files lack",
        detail=f"{table.source.path}\n{listing('columns', names)}",
        hint=suggest(name, names),
        place=place,
    )


def _refuse_nothing(table: Table, place: Place | None) -> NoReturn:
    there = os.path.exists(table.source.path)
    why = "where there is nothing to read" if there else "which does not exist"
    refuse(
        "E_SOURCE",
        f"table {table.name} reads {table.source.path}, {why}",
        hint="" if there else "paths are relative to the script that has CREATE TABLE",
        place=place,
    )
