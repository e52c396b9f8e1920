"""FROM of a query over several windows: its sides, and the steps by which they are joined."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from tidemill.catalog import Catalog, Table
from tidemill.errors import Place, refuse
from tidemill.language.names import Name, quote_name, quote_stream, side_of
from tidemill.language.not_built import refuse_unbuilt
from tidemill.language.statements import CreateQuery, Expr, JoinClause, Select, Window
from tidemill.plan.bind.clauses import ScalarBinder
from tidemill.plan.bind.environment import Environment
from tidemill.plan.bind.joined.conditions import ConditionReader, Conjuncts
from tidemill.plan.bind.joined.sides import (
    BoundSide,
    FromItem,
    FromScope,
    check_qualifier,
    sides_of,
)
from tidemill.plan.bind.joined.terms import Kind
from tidemill.plan.bind.scope import Scope, ScopeEntry, table_entry
from tidemill.plan.bind.streams import bound_stream, query_scope

_WINDOW = "give it one: {name} [RANGE r]; all windows end where the one with SLIDE does"
_COMMA = "ON names what stands behind the last comma; compare with what stands before in WHERE"
_NO_SIDE = -1
_OUTER_HINT = "write LEFT JOIN, or join the table before the outer join"
_TABLE_HINT = "compare the table with columns of one stream; others go into WHERE"


@dataclass(frozen=True)
class JoinStep:
    """A side that is joined to those before it, and on what."""

    kind: Kind
    side: int
    on: Conjuncts
    place: Place | None


@dataclass(frozen=True)
class FromRead:
    """What a reader has made of FROM, and of EXISTS and IN behind it."""

    sides: tuple[BoundSide, ...]
    items: tuple[FromItem, ...]
    entries: tuple[ScopeEntry, ...]
    absent: tuple[ScopeEntry, ...]
    groups: tuple[tuple[int, list[JoinStep]], ...]


@dataclass
class FromReader:
    """Reads what FROM joins, part by part. `groups` are what commas part."""

    query: CreateQuery
    catalog: Catalog
    environment: Environment
    sides: list[BoundSide] = field(default_factory=list)
    items: list[FromItem] = field(default_factory=list)
    entries: list[ScopeEntry] = field(default_factory=list)  # that a later clause may name
    absent: list[ScopeEntry] = field(default_factory=list)  # of semi and anti joins
    groups: list[tuple[int, list[JoinStep]]] = field(default_factory=list)
    _nullable: set[int] = field(default_factory=set)  # sides that may have NULLs for rows
    _begin: int = 0  # the first of the entries that a condition in FROM may name

    def read(self) -> FromRead:
        """All of FROM."""
        select = self.query.select
        first = JoinClause(
            ",", select.stream, select.stream_alias, window=select.window, place=select.stream_place
        )
        self._join(first)
        for clause in select.joins:
            self._join(clause)
        return self.so_far()

    def so_far(self) -> FromRead:
        """What has been read."""
        return FromRead(
            tuple(self.sides),
            tuple(self.items),
            tuple(self.entries),
            tuple(self.absent),
            tuple(self.groups),
        )

    def after(self, parts: FromRead) -> FromReader:
        """One that has read FROM already, in this or in another query."""
        return replace(
            self,
            sides=list(parts.sides),
            items=list(parts.items),
            entries=list(parts.entries),
            absent=list(parts.absent),
            groups=list(parts.groups),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """What the query calls the items."""
        return tuple(item.entry.qualifier.written for item in self.items)

    def scope(self, entries: list[ScopeEntry] | None = None) -> Scope:
        """What may be named: all that is visible, or these."""
        visible = self.entries if entries is None else entries
        signatures = self.environment.signatures
        return FromScope(tuple(self.items), (*visible, *self.absent), signatures).scope

    def scalars(self, entries: list[ScopeEntry] | None = None) -> ScalarBinder:
        return ScalarBinder(self.scope(entries), self.environment.type_of)

    def add_side(
        self, name: str, qualifier: str, window: Window | None, place: Place | None
    ) -> BoundSide:
        """A further window; its columns are there, and not visible yet."""
        self._check_window(name, window, place)
        stream = bound_stream(name, self.catalog, self.environment, place)
        number = len(self.sides)
        select = Select((), name, qualifier, None, stream_place=place)
        query = replace(self.query, select=select)
        scope, _, _ = query_scope(query, stream.face, self.environment, ())
        item = FromItem(len(self.items), number, scope.visible[0])
        self.items.append(item)
        side = BoundSide(number, qualifier, stream, query, (), (item,), place)
        self.sides.append(side)
        return side

    def _check_window(self, name: str, window: Window | None, place: Place | None) -> None:
        if self.catalog.definition("table", name) is not None:
            refuse(
                "E_NOT_A_STREAM",
                f"{name} is a table, and has no windows",
                hint=f"tables are joined as they are: JOIN {name} ON …",
                place=place if window is None else window.place,
            )
        if window is None:
            refuse(
                "E_WINDOW",
                f"stream {name} has no window here",
                hint=_WINDOW.format(name=quote_stream(name)),
                place=place,
            )

    def _join(self, clause: JoinClause) -> None:
        check_qualifier(self.entries, clause)
        if clause.window is None and self.sides and not self._is_stream(clause.name):
            self._join_table(clause)
            return
        side = self.add_side(clause.name, clause.qualifier, clause.window, clause.place)
        entry = side.items[0].visible(frozenset(map(Name, clause.using)))
        if clause.kind == ",":
            self._begin = len(self.entries)
            self.groups.append((side.number, []))
            self.entries.append(entry)
            return
        on = self._condition(clause, side.number, entry)
        kind = _KINDS[clause.kind]
        self.groups[-1][1].append(JoinStep(kind, side.number, on, clause.condition_place))
        self._show(clause, entry)
        if kind in ("RIGHT", "FULL"):
            first, steps = self.groups[-1]
            self._nullable |= {first, *(step.side for step in steps[:-1])}
        if kind in ("LEFT", "FULL"):
            self._nullable.add(side.number)

    def _is_stream(self, name: str) -> bool:
        return side_of(name) is not None or self.catalog.definition("stream", name) is not None

    def _show(self, clause: JoinClause, entry: ScopeEntry) -> None:
        """What later clauses may name; a side that is only looked at is not among it."""
        if clause.kind in ("LEFT SEMI", "LEFT ANTI"):
            why = f"{clause.kind} JOIN looks into {clause.qualifier}, and gives none of its columns"
            self.absent.append(replace(entry, hidden=True, absent=why))
            return
        if clause.kind in ("RIGHT", "FULL") and clause.using:
            self._merge(clause, entry)
            return
        self.entries.append(entry)

    def _merge(self, clause: JoinClause, entry: ScopeEntry) -> None:
        """USING where the left may have NULLs: a name means the right column, or either."""
        names = frozenset(map(Name, clause.using))
        columns = dict[Name, exp.Expr]()
        declared = {}
        for name in names:
            right = entry.tree(name)
            left = self._left(clause, name).unnest()
            choices = left.expressions if isinstance(left, exp.Anonymous) else [left]
            either = exp.Anonymous(this="COALESCE", expressions=[*choices, right.copy()])
            columns[name] = either if clause.kind == "FULL" else right
            declared[name] = entry.declared[name]
        self.entries[self._begin :] = [
            replace(e, merged=e.merged | (names & e.declared.keys()))
            for e in self.entries[self._begin :]
        ]
        self.entries.append(entry)
        self.entries.append(ScopeEntry(Name(""), "columns", "of USING", declared, trees=columns))

    def _left(self, clause: JoinClause, name: Name) -> exp.Expr:
        before = self.scope(self.entries[self._begin :])
        return before.resolve(Expr(quote_name(name.written), clause.condition_place))

    def _before(self) -> list[ScopeEntry]:
        """What ON may name besides what is joined; what stands before a comma is told apart."""
        apart = (replace(e, hidden=True, absent=_COMMA) for e in self.entries[: self._begin])
        return [*apart, *self.entries[self._begin :]]

    def _condition(self, clause: JoinClause, side: int, entry: ScopeEntry) -> Conjuncts:
        scalars = self.scalars([*self._before(), replace(entry, merged=frozenset())])
        reader = ConditionReader(scalars, self.items, "ON", side, _NO_GROUPS)
        conditions = reader.read(clause.on)
        for written in clause.using:
            place = clause.condition_place
            expr, qualifier = Expr(quote_name(written), place), quote_name(entry.qualifier.written)
            right = self.scope([entry]).resolve(Expr(f"{qualifier}.{quote_name(written)}", place))
            conditions += reader.equal(expr, self._left(clause, Name(written)), right)
        return conditions

    def _join_table(self, clause: JoinClause) -> None:
        """A table beside a stream: it belongs to the side that its condition is about."""
        table = self.catalog.table(clause.name, clause.place)
        number = self._side_of_table(clause, table)
        side = self.sides[number]
        select = replace(side.query.select, joins=(*side.query.select.joins, clause))
        query, tables = replace(side.query, select=select), (*side.tables, table)
        scope, _, _ = query_scope(query, side.stream.face, self.environment, tables)
        item = FromItem(len(self.items), number, scope.visible[-1])
        self.items.append(item)
        items = (*side.items, item)
        self.sides[number] = replace(side, query=query, tables=tables, items=items)
        self.entries.append(item.visible(frozenset(map(Name, clause.using))))

    def _side_of_table(self, clause: JoinClause, table: Table) -> int:
        """The one side whose columns the condition reads."""
        entry = table_entry(clause, table, "")
        item = FromItem(len(self.items), _NO_SIDE, entry)
        items = (*self.items, item)
        if clause.on is None:
            trees = [self._left(clause, Name(name)) for name in clause.using]
        else:
            visible = (*self._before(), item.visible())
            names = FromScope(items, visible, self.environment.signatures)
            trees = [names.scope.resolve(clause.on)]
        sides = {side for tree in trees for side in sides_of(tree, items)} - {_NO_SIDE}
        if len(sides) != 1:
            refuse_unbuilt("a table joined to several windows", _TABLE_HINT, clause.condition_place)
        (side,) = sides
        if clause.kind == "INNER" and side in self._nullable:
            refuse_unbuilt("JOIN of a table behind an outer join", _OUTER_HINT, clause.place)
        return side


_NO_GROUPS = "a join pairs rows, before there are groups"
_KINDS: dict[str, Kind] = {
    "INNER": "INNER",
    "CROSS": "INNER",
    "LEFT": "LEFT",
    "RIGHT": "RIGHT",
    "FULL": "FULL",
    "LEFT SEMI": "LEFT SEMI",
    "LEFT ANTI": "LEFT ANTI",
}
