"""UNION ALL: the branches of several SELECTs under the names of the first, with common types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NoReturn

from sqlglot import exp

from tidemill.errors import Place, listing, refuse
from tidemill.language.statements import ColumnDef, CreateDerivedStream, Expr, RowSelect
from tidemill.plan.bind.branch import BoundStream, Branch, BranchColumn
from tidemill.plan.bind.clauses import ScalarBinder, TypeOracle
from tidemill.plan.bind.scope import Scope
from tidemill.plan.functions import Signatures
from tidemill.plan.type_rules import common_type_of
from tidemill.types import Type


def unite(
    stream: CreateDerivedStream,
    members: Sequence[BoundStream],
    signatures: Signatures,
    oracle: TypeOracle,
) -> BoundStream:
    """The branches of all members; refused where their columns do not fit each other."""
    faces = [member.face for member in members]
    columns = _columns(stream, faces)
    named = [
        _renamed(branch, columns, signatures, oracle)
        for member in members
        for branch in member.branches
    ]
    face = replace(faces[0], name=stream.name, columns=columns)
    return BoundStream(union_branch(face, named), tuple(named))


def union_branch(face: Branch, branches: Sequence[Branch]) -> Branch:
    """The columns of a union as a branch of a source that nobody reads.

    Updates come as seldom as those of the slowest, which are whole numbers of those of others; and
    its windows are corrected if rows of any do so.
    """
    slowest = max((branch.source for branch in branches), key=lambda source: source.update_us)
    correct_us = max(branch.source.correct_us for branch in branches)
    source = replace(
        slowest,
        name=face.name,
        columns=face.columns,
        time_column=face.time_column,
        correct_us=correct_us,
    )
    return Branch(face.name, source, face.columns, face.time_column)


def _columns(stream: CreateDerivedStream, faces: Sequence[Branch]) -> tuple[ColumnDef, ...]:
    """The names of the first, and of each place the type that those of all members have."""
    first, places = faces[0], [place_of_time(face) for face in faces]
    for select, face, place in zip(stream.members, faces, places, strict=True):
        if len(face.columns) != len(first.columns):
            _refuse_number(stream.name, faces, select)
        if place != places[0]:
            _refuse_time(stream.name, first, face, select)
    by_place = zip(*(face.columns for face in faces), strict=True)
    return tuple(replace(columns[0], type=_common_type(stream, columns)) for columns in by_place)


def place_of_time(branch: Branch) -> int | None:
    """The place of the time among the columns; None of a latent stream."""
    if branch.is_latent:
        return None
    return [column.name for column in branch.columns].index(branch.time_column)


def _common_type(stream: CreateDerivedStream, columns: Sequence[ColumnDef]) -> Type:
    types = [column.type for column in columns]
    common = common_type_of(types)
    if common is None:
        other = next(n for n in range(len(types)) if common_type_of(types[: n + 1]) is None)
        _refuse_types(stream, columns, other)
    return common


def _renamed(
    branch: Branch, columns: Sequence[ColumnDef], signatures: Signatures, oracle: TypeOracle
) -> Branch:
    """The branch with columns of these names and types."""
    scalars = ScalarBinder(Scope(branch.row, signatures, branch.source.time_column), oracle)
    trees = tuple(
        _cast(column, definition, scalars)
        for column, definition in zip(branch.trees, columns, strict=True)
    )
    place = place_of_time(branch)
    time_column = "" if place is None else columns[place].name
    definitions = tuple(replace(definition, place=None) for definition in columns)
    return replace(branch, columns=definitions, trees=trees, time_column=time_column)


def _cast(column: BranchColumn, definition: ColumnDef, scalars: ScalarBinder) -> BranchColumn:
    if column.scalar.type == definition.type:
        return replace(column, name=definition.name)
    kind = exp.DataType.build(definition.type.sql, dialect="spark")
    # `exp.cast` would leave a cast to another decimal out.
    tree = exp.Cast(this=column.tree.copy(), to=kind)
    expr = Expr(f"CAST({column.scalar.sql} AS {definition.type.sql})")
    return BranchColumn(definition.name, scalars.bind(expr, tree), tree)


def _refuse_number(name: str, faces: Sequence[Branch], select: RowSelect) -> NoReturn:
    refuse(
        "E_UNION",
        f"the members of union {name} differ in their number of columns",
        detail="\n".join(_lists(faces)),
        hint="select as many columns in each; CAST(NULL AS …) stands for one that is not there",
        place=select.place,
    )


def _refuse_time(name: str, first: Branch, other: Branch, select: RowSelect) -> NoReturn:
    places = f"{_time_text(first)} of the first SELECT", f"{_time_text(other)} of this one"
    refuse(
        "E_UNION",
        f"the time of union {name} stands at different places in its members",
        detail=f"it is {' and '.join(places)}",
        hint="select the time of each stream at the same place, best as the first column",
        place=select.place,
    )


def _time_text(branch: Branch) -> str:
    place = place_of_time(branch)
    return "no column" if place is None else f"column {place + 1}"


def _refuse_types(
    stream: CreateDerivedStream, columns: Sequence[ColumnDef], other: int
) -> NoReturn:
    first, second = columns[0], columns[other]
    refuse(
        "E_UNION",
        f"column {first.name} of union {stream.name} has no common type",
        detail=listing("types", (f"{column.name} {column.type}" for column in columns)),
        hint=f"make them equal, for example with TRY_CAST(… AS {first.type})",
        place=second.place or _place(stream, other),
    )


def _place(stream: CreateDerivedStream, member: int) -> Place | None:
    return stream.members[member].place


def _lists(faces: Sequence[Branch]) -> Iterator[str]:
    for number, face in enumerate(faces, start=1):
        texts = [tree.scalar.sql for tree in face.trees]
        yield listing(f"member {number}", texts or (column.name for column in face.columns))
