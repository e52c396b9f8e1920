"""Names: which column an identifier means, and where a tree may not go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from tidemill.catalog.names import Name
from tidemill.errors import Place, TidemillError, refuse
from tidemill.language.names import needs_quotes
from tidemill.language.statements import ColumnDef, Expr
from tidemill.plan.bind.entries import ScopeEntry, refuse_ambiguous, refuse_unknown
from tidemill.plan.functions import Signatures
from tidemill.plan.scalar import TableColumn

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


@dataclass(frozen=True)
class Scope:
    """The columns that a query may name: those of its stream, and of the tables joined to it.

    `time_column` is the stream's, where it is known.
    """

    entries: tuple[ScopeEntry, ...]
    aggregates: Signatures
    time_column: str = ""

    @cached_property
    def columns(self) -> dict[Name, ColumnDef]:
        """By name after resolution."""
        return {key: column for entry in self.entries for key, column in entry.columns.items()}

    @cached_property
    def unqualified(self) -> frozenset[Name]:
        """Names that mean a column, or several, without a qualifier."""
        return frozenset(name for entry in self.entries for name in entry.unqualified)

    @property
    def time(self) -> exp.Column:
        """The stream's own time, as a resolved tree."""
        return _column(self.columns[Name(self.time_column)])

    def resolve(self, expr: Expr, also: frozenset[str] = frozenset()) -> exp.Expr:
        """The tree with every column in its declared spelling; names in `also` stay."""
        tree = expr.tree
        for column in list(tree.find_all(exp.Column)):
            if Name(column.name) in also and not column.table:
                continue
            resolved = self._resolve_column(expr, column)
            if column is tree:
                tree = resolved
            else:
                column.replace(resolved)
        return tree

    def columns_of(self, tree: exp.Expr) -> tuple[str, ...]:
        """The stream's columns in a resolved tree."""
        names = {Name(c.name) for c in tree.find_all(exp.Column)}
        return tuple(c.name for key, c in self.entries[0].columns.items() if key in names)

    def joined_of(self, tree: exp.Expr) -> tuple[TableColumn, ...]:
        """The tables' columns in a resolved tree."""
        names = {Name(c.name) for c in tree.find_all(exp.Column)}
        return tuple(
            entry.origin(column)
            for entry in self.entries[1:]
            for column in entry.declared.values()
            if Name(entry.resolved(column).name) in names
        )

    def readable(self, text: str) -> str:
        """Names after resolution in the query's own words again."""
        for entry in self.entries[1:]:
            text = text.replace(f"{entry.join}_", f"{entry.qualifier.written}.")
        return text

    def _resolve_column(self, expr: Expr, column: exp.Column) -> exp.Expr:
        parts = [part.name for part in column.parts]
        entry = self._qualified(parts)
        if entry is not None:
            parts = parts[1:]
        holders = [entry] if entry is not None else self._holders(parts[0])
        if len(holders) > 1:
            refuse_ambiguous(holders, parts[0], place_in(expr, column))
        declared = holders[0].declared.get(Name(parts[0])) if holders else None
        if declared is None:
            refuse_unknown(holders or self.entries, parts[0], place_in(expr, column))
        node: exp.Expr = _column(holders[0].resolved(declared))
        for part in parts[1:]:
            node = exp.Dot(this=node, expression=exp.to_identifier(part))
        return node

    def _qualified(self, parts: Sequence[str]) -> ScopeEntry | None:
        if len(parts) == 1:
            return None
        qualifier = Name(parts[0])
        return next((entry for entry in self.entries if entry.qualifier == qualifier), None)

    def _holders(self, name: str) -> list[ScopeEntry]:
        return [entry for entry in self.entries if Name(name) in entry.unqualified]


@contextmanager
def in_own_words(scope: Scope) -> Iterator[None]:
    """A refusal inside names columns as the query does."""
    try:
        yield
    except TidemillError as error:
        problem, say = error.problem, scope.readable
        primary, detail, hint = say(problem.primary), say(problem.detail), say(problem.hint)
        raise TidemillError(replace(problem, primary=primary, detail=detail, hint=hint)) from None


def _column(declared: ColumnDef) -> exp.Column:
    # sqlglot takes any Unicode letter for plain; Spark wants backticks beyond ASCII.
    name = exp.to_identifier(declared.name, quoted=needs_quotes(declared.name))
    return exp.column(name)


def aggregate_calls(tree: exp.Expr, signatures: Signatures) -> Iterator[tuple[exp.Expr, str]]:
    """Each aggregate call in the tree with its canonical name."""
    for node in tree.walk():
        name = function_name(node)
        if name and (function := signatures.canonical(name)):
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
