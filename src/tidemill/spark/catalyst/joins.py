"""Tables beside the rows of a pass, broadcast to where the rows are.

Every row stays, if only with NULLs: whether it must have a partner is said by predicates, so
that queries of either kind are served by one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from tidemill.language.names import quote_name
from tidemill.plan.expressions import Scalar, TableColumn
from tidemill.plan.joins import Join
from tidemill.spark.catalyst.values import guard, guarded_columns, read_value
from tidemill.state.feed import Scan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Tables = Callable[[Join], "DataFrame"]


def with_tables(rows: DataFrame, scan: Scan, tables: Tables) -> DataFrame:
    """The timed rows with the columns of all tables that the scan joins."""
    from pyspark.sql import functions as F

    for number, join in enumerate(scan.relation.joins):
        table = _renamed(join, tables(join), f"_on{number}")
        rows = _guarded(rows, scan, join)
        rows = rows.join(F.broadcast(table), F.expr(_condition(scan, join, number)), "left")
    return rows


def _guarded(rows: DataFrame, scan: Scan, join: Join) -> DataFrame:
    """With what is compared, where it may raise; the scan knows it by the same name."""
    columns = guarded_columns(rows.sparkSession, scan.scalars, join.befores)
    there = rows.columns if columns else []
    return rows.withColumns({name: c for name, c in columns.items() if name not in there})


@lru_cache(maxsize=64)  # a new tick must not build anything that the last one has
def _renamed(join: Join, table: DataFrame, prefix: str) -> DataFrame:
    """The table under the names that its columns have in expressions."""
    names = {column: quote_name(TableColumn(join.name, column).name) for column in table.columns}
    items = [f"{quote_name(column)} AS {name}" for column, name in names.items()]
    some_column = names[table.columns[0]]
    renamed = table.selectExpr(*items, f"TRUE AS {quote_name(join.partner.name)}")
    guards = {
        f"{prefix}_{place}": guard(table.sparkSession, theirs.try_sql, some_column)
        for place, (_, theirs) in enumerate(join.equal)
        if theirs.guarded
    }
    return renamed.withColumns(guards)


def _condition(scan: Scan, join: Join, number: int) -> str:
    return " AND ".join(f"({part})" for part in _parts(scan, join, number))


def _parts(scan: Scan, join: Join, number: int) -> Iterator[str]:
    for place, (before, scalar) in enumerate(join.equal):
        theirs = f"_on{number}_{place}.value" if scalar.guarded else scalar.try_sql
        yield f"({_before(scan, before)}) = ({theirs})"
    if join.residual is not None:
        yield join.residual.try_sql


def _before(scan: Scan, before: Scalar) -> str:
    return read_value(scan.scalars, before) if before.guarded else before.try_sql
