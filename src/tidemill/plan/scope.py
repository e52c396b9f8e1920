"""Names: which stream column an identifier means, and where a tree may not go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from sqlglot import exp

from tidemill.catalog import Stream
from tidemill.errors import Place, listing, refuse, suggest
from tidemill.language.names import needs_quotes
from tidemill.language.statements import ColumnDef, Expr, Select
from tidemill.plan import aggregates

# Same input, other answer: a replayed tick would disagree with itself.
NOT_REPLAYABLE = frozenset(
    (
        "RAND RANDOM RANDN RANDSTR UNIFORM UUID SHUFFLE MONOTONICALLY_INCREASING_ID "
        "SPARK_PARTITION_ID INPUT_FILE_NAME INPUT_FILE_BLOCK_START INPUT_FILE_BLOCK_LENGTH NOW "
        "CURRENT_TIMESTAMP CURRENT_DATE CURDATE CURRENT_TIME LOCALTIMESTAMP CURRENT_USER USER "
        "SESSION_USER CURRENT_DATABASE CURRENT_SCHEMA CURRENT_CATALOG REFLECT JAVA_METHOD "
        "TRY_REFLECT RAISE_ERROR ASSERT_TRUE"
    ).split()
)


def function_name(node: exp.Expr) -> str | None:
    """Upper-case name when the node is a function call."""
    if isinstance(node, exp.Anonymous):
        return str(node.name).upper()
    return node.sql_name().upper() if isinstance(node, exp.Func) else None


class Scope:
    """The columns of one stream, as a query names them."""

    def __init__(self, select: Select, stream: Stream) -> None:
        self.stream = stream
        self.columns = {column.name.lower(): column for column in stream.columns}
        self._qualifiers = {(select.stream_alias or select.stream).lower()}

    def resolve(self, expr: Expr, also: frozenset[str] = frozenset()) -> exp.Expr:
        """The tree with every column in its declared spelling; names in `also` stay."""
        tree = expr.tree
        for column in list(tree.find_all(exp.Column)):
            if column.name.lower() in also and not column.table:
                continue
            resolved = self._resolve_column(expr, column)
            if column is tree:
                tree = resolved
            else:
                column.replace(resolved)
        return tree

    def columns_of(self, tree: exp.Expr) -> tuple[str, ...]:
        names = {c.name.lower() for c in tree.find_all(exp.Column)}
        return tuple(c.name for key, c in self.columns.items() if key in names)

    def _resolve_column(self, expr: Expr, column: exp.Column) -> exp.Expr:
        parts = [part.name for part in column.parts]
        if len(parts) > 1 and parts[0].lower() in self._qualifiers:
            parts = parts[1:]
        declared = self.columns.get(parts[0].lower())
        if declared is None:
            self._refuse_column(expr, column, parts[0])
        node: exp.Expr = _column(declared)
        for part in parts[1:]:
            node = exp.Dot(this=node, expression=exp.to_identifier(part))
        return node

    def _refuse_column(self, expr: Expr, column: exp.Column, name: str) -> NoReturn:
        names = [c.name for c in self.stream.columns]
        after = "window_start and window_end are for SELECT, HAVING and ORDER BY"
        is_bound = name.lower() in ("window_start", "window_end")
        refuse(
            "E_UNKNOWN_COLUMN",
            f"no column '{name}' in stream {self.stream.name}",
            detail=listing("columns", names),
            hint=after if is_bound else suggest(name, names),
            place=expr.place_of(column) or expr.place,
        )


def _column(declared: ColumnDef) -> exp.Column:
    # sqlglot takes any Unicode letter for plain; Spark wants backticks beyond ASCII.
    name = exp.to_identifier(declared.name, quoted=needs_quotes(declared.name))
    return exp.column(name)


def aggregate_calls(tree: exp.Expr) -> Iterator[tuple[exp.Expr, str]]:
    """Each aggregate call in the tree with its canonical name."""
    for node in tree.walk():
        name = function_name(node)
        if name and (function := aggregates.canonical(name)):
            yield node, function


def check_replayable(expr: Expr, tree: exp.Expr) -> None:
    for node in tree.walk():
        name = function_name(node)
        clock = name == "UNIX_TIMESTAMP" and not node.expressions
        if name in NOT_REPLAYABLE or clock:
            refuse(
                "E_NOT_DETERMINISTIC",
                f"{name} gives another value each time, so answers could not be repeated",
                hint="use the columns of the stream; its time column is the row's time",
                place=expr.place_of(node) or expr.place,
            )


def place_in(expr: Expr, node: exp.Expr) -> Place | None:
    return expr.place_of(node) or expr.place
