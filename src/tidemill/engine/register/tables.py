"""The tables that standing queries join, as they were when the first of these came.

Their rows are kept in the home, so that a replay sees the same ones whatever has become of the
source. A join says which file it reads; a file without a join goes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.catalog import Table
from tidemill.errors import Place, refuse
from tidemill.language.names import Name
from tidemill.plan.expressions import Scalar
from tidemill.plan.joins import Join, JoinTerms, TableExtent, equal_as_stored
from tidemill.share import SharedPlan
from tidemill.spark.on_demand import AskSession
from tidemill.spark.rows import Rows
from tidemill.spark.tables import kept_table, read_table


class JoinedTables:
    """Tells joins their rows: a table that no query uses is read, others are as they were."""

    def __init__(self, folder: Path, session: AskSession) -> None:
        self._folder, self._session = folder, session
        self._fresh: dict[str, pa.Table] = {}  # by file, until it is written
        self._read: dict[Table, str] = {}
        self._standing = _StandingJoins(SharedPlan())

    def begin(self) -> None:
        """A script sees one state of every table, the next script another."""
        self._fresh, self._read = {}, {}

    def extent_of(
        self, terms: JoinTerms, table: Table, scan: str, standing: SharedPlan, place: Place | None
    ) -> TableExtent:
        """The rows that a join on these terms reads; `standing` are the queries by its side."""
        file = self.file_of(table, scan, standing, place)
        if (join := self._joins_of(standing).by_name.get(terms.name)) is not None:
            return join.extent
        rows = self._fresh[file] if file in self._fresh else pq.read_table(self._folder / file)
        return TableExtent(file, multiplies=not is_unique(terms, rows))

    def file_of(self, table: Table, scan: str, standing: SharedPlan, place: Place | None) -> str:
        """The file with a table's rows; they are read now if no standing query has.

        `scan` is the setting that says who may read them.
        """
        if (file := self._joins_of(standing).files.get(Name(table.name))) is not None:
            self._check_kept(table, file, place)
            return file
        if table not in self._read:
            rows = read_table(self._session, table, scan, place)
            digest = hashlib.blake2b(_parquet(rows), digest_size=8).hexdigest()
            self._read[table] = f"{Name(table.name)}/{digest}.parquet"
            self._fresh[self._read[table]] = rows
        return self._read[table]

    def frame(self, join: Join) -> Rows:
        """The rows that a join reads."""
        session = self._session(f"table {join.table}")
        if join.file in self._fresh:
            return session.createDataFrame(self._fresh[join.file])
        return kept_table(session, self._folder / join.file)

    def write(self, plan: SharedPlan) -> None:
        """Keep what the plan's joins read; files are put in place whole."""
        for file in {join.file for join in joins_of(plan).values()} & self._fresh.keys():
            path = self._folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            scratch = path.with_suffix(".tmp")
            scratch.write_bytes(_parquet(self._fresh[file]))
            scratch.replace(path)
            del self._fresh[file]

    def sweep(self, plan: SharedPlan) -> None:
        """Remove the files that no join of the plan reads."""
        used = {self._folder / join.file for join in joins_of(plan).values()}
        for path in self._folder.glob("*/*"):
            if path not in used:
                path.unlink()

    def _joins_of(self, standing: SharedPlan) -> _StandingJoins:
        """Gone through once for the many queries of a script."""
        if self._standing.plan is not standing:
            self._standing = _StandingJoins(standing)
        return self._standing

    def _check_kept(self, table: Table, file: str, place: Place | None) -> None:
        if pq.read_schema(self._folder / file).names != [column.name for column in table.columns]:
            refuse(
                "E_IN_USE",
                f"table {table.name} is still joined as it was before it was replaced",
                hint="windows of earlier queries are open; register this one when they have closed",
                place=place,
            )


@dataclass(frozen=True)
class _StandingJoins:
    """The joins of a plan, and the files of the tables that they read."""

    plan: SharedPlan

    @cached_property
    def by_name(self) -> dict[str, Join]:
        return joins_of(self.plan)

    @cached_property
    def files(self) -> dict[Name, str]:
        return {Name(join.table): join.file for join in self.by_name.values()}


def joins_of(plan: SharedPlan) -> dict[str, Join]:
    """The joins of all queries and synopses, by name.

    A synopsis may go on with a join whose last query has moved elsewhere.
    """
    queries = (
        join
        for query in plan.every_query
        for part in query.by_source
        for join in part.relation.joins
    )
    synopses = (join for synopsis in plan.synopses for join in synopsis.relation.joins)
    return {join.name: join for join in (*queries, *synopses)}


def is_unique(join: JoinTerms, rows: pa.Table) -> bool:
    """True if no row can have two partners; only known for joins that compare plain columns."""
    names = [_plain_column(*pair) for pair in join.equal]
    columns = [name for name in names if name is not None]
    if len(columns) < len(names):
        return False
    keys = rows.select(dict.fromkeys(columns)).drop_null()  # NULL equals nothing
    return len(keys.group_by(keys.column_names).aggregate([])) == len(keys)


def _plain_column(before: Scalar, compared: Scalar) -> str | None:
    """The table's column, if its values are compared as they are."""
    if not compared.is_column or not equal_as_stored(before.type, compared.type):
        return None
    return compared.joined[0].column


def _parquet(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink)
    return bytes(sink.getvalue())
