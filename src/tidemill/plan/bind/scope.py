"""The scope of a query: which column an identifier means, and where a tree may not go.

Streams and tables enter it as FROM and JOIN name them, with their columns in the words of the
query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NoReturn

from sqlglot import exp

from tidemill.catalog import Table
from tidemill.errors import Place, TidemillError, listing, refuse, suggest
from tidemill.language.expressions.trees import place_of_tree
from tidemill.language.names import Name, by_name, needs_quotes
from tidemill.language.not_built import refuse_unbuilt
from tidemill.language.statements import ColumnDef, Expr, JoinClause
from tidemill.plan.expressions import TableColumn
from tidemill.plan.functions import Signatures

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


# In the meta of a tree that stands for a column of a derived stream: the name of the column.
_WRITTEN = "written"


@dataclass(frozen=True)
class ScopeEntry:
    """A stream or a table. `join` is the name of the join that brings in a table's columns.

    Those that USING has merged with earlier ones need their qualifier. The columns of a derived
    stream are `trees` over those of entries that are `hidden`: no name means these.
    """

    qualifier: Name
    kind: str
    name: str
    declared: Mapping[Name, ColumnDef]
    join: str = ""
    merged: frozenset[Name] = frozenset()
    trees: Mapping[Name, exp.Expr] = field(default_factory=dict)
    hidden: bool = False
    absent: str = ""  # why its own name means nothing, if one may think that it does

    @property
    def title(self) -> str:
        return f"{self.kind} {self.name}"

    @cached_property
    def columns(self) -> dict[Name, ColumnDef]:
        """By the names that expressions have after resolution; a derived stream has none."""
        return {} if self.trees else by_name(map(self.resolved, self.declared.values()))

    @property
    def unqualified(self) -> frozenset[Name]:
        return frozenset(() if self.hidden else self.declared) - self.merged

    def tree(self, name: Name) -> exp.Expr:
        """A column as a resolved tree, the caller's to change."""
        if name not in self.trees:
            return _column(self.resolved(self.declared[name]))
        tree = self.trees[name].copy()
        tree = tree if isinstance(tree, exp.Column) else exp.Paren(this=tree)
        tree.meta[_WRITTEN] = self.declared[name].name
        return tree

    def resolved(self, column: ColumnDef) -> ColumnDef:
        return replace(column, name=self.origin(column).name) if self.join else column

    def origin(self, column: ColumnDef) -> TableColumn:
        return TableColumn(self.join, column.name)


def table_entry(clause: JoinClause, table: Table, join: str) -> ScopeEntry:
    qualifier, merged = Name(clause.qualifier), frozenset(map(Name, clause.using))
    return ScopeEntry(qualifier, "table", table.name, by_name(table.columns), join, merged)


def refuse_ambiguous(holders: Sequence[ScopeEntry], name: str, place: Place | None) -> NoReturn:
    refuse(
        "E_AMBIGUOUS",
        f"column '{name}' is in {' and '.join(entry.title for entry in holders)}",
        detail=listing("choices", (f"{entry.qualifier.written}.{name}" for entry in holders)),
        hint="say which, by the name or alias in front",
        place=place,
    )


def refuse_unknown(
    entries: Sequence[ScopeEntry], name: str, place: Place | None, hint: str = ""
) -> NoReturn:
    names = [column.name for entry in entries for column in entry.declared.values()]
    refuse(
        "E_UNKNOWN_COLUMN",
        f"no column '{name}' in {' or '.join(entry.title for entry in entries)}",
        detail="\n".join(_columns_of(entry, len(entries)) for entry in entries),
        hint=hint or _guess(entries, name) or suggest(name, names),
        place=place,
    )


def _columns_of(entry: ScopeEntry, count: int) -> str:
    label = "columns" if count == 1 else f"columns of {entry.qualifier.written}"
    return listing(label, (column.name for column in entry.declared.values()))


def _guess(entries: Sequence[ScopeEntry], name: str) -> str:
    if Name(name) in ("window_start", "window_end"):
        return "window_start and window_end are for SELECT, HAVING and ORDER BY over a window"
    renamed = [e for e in entries if Name(e.name) == Name(name) != e.qualifier]
    return f"{renamed[0].title} is called {renamed[0].qualifier.written} here" if renamed else ""


def function_name(node: exp.Expr) -> str | None:
    """Upper-case name when the node is a function call."""
    if isinstance(node, exp.Anonymous):
        return str(node.name).upper()
    return node.sql_name().upper() if isinstance(node, exp.Func) else None


@dataclass(frozen=True)
class Scope:
    """The columns that a query may name: those of its stream, and of the tables joined to it.

    The first entry is the source of the rows; `time_column` is its own, if it has one.
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
    def visible(self) -> tuple[ScopeEntry, ...]:
        """The parts of FROM."""
        return tuple(entry for entry in self.entries if not entry.hidden)

    @property
    def starred(self) -> list[tuple[ScopeEntry, Name]]:
        """The columns of `*` in Spark's order: what USING merges stands in front."""
        columns: list[tuple[ScopeEntry, Name]] = []
        for entry in self.visible:
            merged = [column for column in columns if column[1] in entry.merged]
            rest = [column for column in columns if column[1] not in entry.merged]
            columns = [*merged, *rest]
            columns += [(entry, name) for name in entry.declared if name not in entry.merged]
        return columns

    @property
    def time(self) -> exp.Column | None:
        """The time of a row, as a resolved tree; None if no column has it."""
        if not self.time_column:
            return None
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
                column.replace(_as_field(resolved, column.parent))
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
            for entry in self._tables
            for column in entry.declared.values()
            if Name(entry.resolved(column).name) in names
        )

    def readable(self, text: str) -> str:
        """Names after resolution in the query's own words again."""
        for entry in self._tables:
            text = text.replace(f"{entry.join}_", f"{entry.qualifier.written}.")
        return text

    @property
    def _tables(self) -> tuple[ScopeEntry, ...]:
        return tuple(entry for entry in self.entries if entry.join)

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
            absent = (e.absent for e in self.entries if e.qualifier == Name(parts[0]))
            hint = next(filter(None, absent), "")
            refuse_unknown(holders or self.visible, parts[0], place_in(expr, column), hint)
        node = holders[0].tree(Name(parts[0]))
        if holders[0].trees and (place := place_of_tree(column)) is not None:
            node.meta.update(start=place.start, end=place.end - 1)
        for part in parts[1:]:
            node = exp.Dot(this=node, expression=exp.to_identifier(part))
        return node

    def _qualified(self, parts: Sequence[str]) -> ScopeEntry | None:
        if len(parts) == 1:
            return None
        qualifier = Name(parts[0])
        return next((entry for entry in self.visible if entry.qualifier == qualifier), None)

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


def _as_field(resolved: exp.Expr, parent: exp.Expr | None) -> exp.Expr:
    """STRUCT calls its fields after its arguments: a column keeps the name that it has here."""
    name = written_name(resolved)
    if not name or not isinstance(parent, exp.Anonymous) or parent.name.upper() != "STRUCT":
        return resolved
    return exp.Alias(this=resolved, alias=exp.to_identifier(name, quoted=needs_quotes(name)))


def written_name(node: exp.Expr) -> str:
    """The name by which a resolved tree has been called; empty if it is no column of a stream."""
    return str(node.meta.get(_WRITTEN, ""))


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


def refuse_filter(expr: Expr, tree: exp.Expr) -> None:
    if (node := tree.find(exp.Filter)) is not None:
        hint = "write the condition into the argument: SUM(CASE WHEN condition THEN x END)"
        refuse_unbuilt("FILTER (WHERE …)", hint, place_in(expr, node))


def place_in(expr: Expr, node: exp.Expr) -> Place | None:
    return expr.place_of(node) or expr.place
