"""Tables beside the rows of a pass, broadcast to where the rows are.

Every row stays, if only with NULLs: whether it must have a partner is said by predicates, so
that queries of either kind are served by one pass. Where a pass serves several relations, a row
comes once for each, marked with its number, and meets the tables of that one alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from tidemill.language.names import quote_name
from tidemill.plan.expressions import Scalar, TableColumn
from tidemill.plan.joins import Join
from tidemill.plan.relation import Relation
from tidemill.spark.catalyst.values import guard, guarded_columns, read_value
from tidemill.state.feed import Scan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Tables = Callable[[Join], "DataFrame"]
RELATION = "_relation"


def with_tables(
    rows: DataFrame, scan: Scan, tables: Tables, relations: Sequence[Relation]
) -> DataFrame:
    """The timed rows of all relations, with the columns of all tables that the scan joins."""
    from pyspark.sql import functions as F

    if len(relations) > 1:
        numbers = ", ".join(map(str, range(len(relations))))
        rows = rows.selectExpr("*", f"EXPLODE(ARRAY({numbers})) AS {RELATION}")
    for number, join in enumerate(scan.relation.joins):
        table = _renamed(join, tables(join), f"_on{number}")
        rows = _guarded(rows, scan, join)
        condition = _condition(scan, join, number, _where_joined(join, relations))
        rows = rows.join(F.broadcast(table), F.expr(condition), "left")
    return rows


def _where_joined(join: Join, relations: Sequence[Relation]) -> str:
    """The rows that meet the table; one that leaves rows as many is there for all relations."""
    numbers = [str(n) for n, relation in enumerate(relations) if join in relation.joins]
    if not join.multiplies or len(numbers) == len(relations):
        return ""
    return f"{RELATION} IN ({', '.join(numbers)})"


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


def _condition(scan: Scan, join: Join, number: int, where: str) -> str:
    return " AND ".join(f"({part})" for part in _parts(scan, join, number, where))


def _parts(scan: Scan, join: Join, number: int, where: str) -> Iterator[str]:
    """The conditions that partners meet. Where a table is not joined, NULLs are compared, which
    equal nothing: so the condition stays one that Spark looks up."""
    for place, (before, scalar) in enumerate(join.equal):
        theirs = f"_on{number}_{place}.value" if scalar.guarded else scalar.try_sql
        value = _before(scan, before)
        yield f"({f'IF({where}, {value}, NULL)' if where else value}) = ({theirs})"
    if join.residual is not None:
        yield join.residual.try_sql


def _before(scan: Scan, before: Scalar) -> str:
    return read_value(scan.scalars, before) if before.guarded else before.try_sql
