"""Names: which column an identifier means, and where a tree may not go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from tidemill.errors import Place, TidemillError, refuse
from tidemill.language.names import needs_quotes
from tidemill.language.statements import ColumnDef, Expr
from tidemill.plan.bind.relations import Relation, refuse_ambiguous, refuse_unknown
from tidemill.plan.functions import BUILT_IN, Known
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

    relations: tuple[Relation, ...]
    aggregates: Known = BUILT_IN
    time_column: str = ""

    @cached_property
    def columns(self) -> dict[str, ColumnDef]:
        """By lower-case name after resolution."""
        return {key: column for r in self.relations for key, column in r.columns.items()}

    @cached_property
    def unqualified(self) -> frozenset[str]:
        """Lower-case names that mean a column, or several, without a qualifier."""
        return frozenset(name for relation in self.relations for name in relation.unqualified)

    @property
    def time(self) -> exp.Column:
        """The stream's own time, as a resolved tree."""
        return _column(self.columns[self.time_column.lower()])

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
        """The stream's columns in a resolved tree."""
        names = {c.name.lower() for c in tree.find_all(exp.Column)}
        return tuple(c.name for key, c in self.relations[0].columns.items() if key in names)

    def joined_of(self, tree: exp.Expr) -> tuple[TableColumn, ...]:
        """The tables' columns in a resolved tree."""
        names = {c.name.lower() for c in tree.find_all(exp.Column)}
        return tuple(
            relation.origin(column)
            for relation in self.relations[1:]
            for column in relation.declared.values()
            if relation.resolved(column).name.lower() in names
        )

    def readable(self, text: str) -> str:
        """Names after resolution in the query's own words again."""
        for relation in self.relations[1:]:
            text = text.replace(f"{relation.join}_", f"{relation.qualifier}.")
        return text

    def _resolve_column(self, expr: Expr, column: exp.Column) -> exp.Expr:
        parts = [part.name for part in column.parts]
        relation = self._qualified(parts)
        if relation is not None:
            parts = parts[1:]
        found = [r for r in (relation,) if r] or self._holders(parts[0])
        if len(found) > 1:
            refuse_ambiguous(found, parts[0], place_in(expr, column))
        declared = found[0].declared.get(parts[0].lower()) if found else None
        if declared is None:
            refuse_unknown(found or self.relations, parts[0], place_in(expr, column))
        node: exp.Expr = _column(found[0].resolved(declared))
        for part in parts[1:]:
            node = exp.Dot(this=node, expression=exp.to_identifier(part))
        return node

    def _qualified(self, parts: Sequence[str]) -> Relation | None:
        if len(parts) == 1:
            return None
        named = (r for r in self.relations if r.qualifier.lower() == parts[0].lower())
        return next(named, None)

    def _holders(self, name: str) -> list[Relation]:
        return [r for r in self.relations if name.lower() in r.unqualified]


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


def aggregate_calls(tree: exp.Expr, known: Known) -> Iterator[tuple[exp.Expr, str]]:
    """Each aggregate call in the tree with its canonical name."""
    for node in tree.walk():
        name = function_name(node)
        if name and (function := known.canonical(name)):
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
