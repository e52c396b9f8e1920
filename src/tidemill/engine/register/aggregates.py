"""Aggregates of users in a catalog: read from their files, tried out, and told of."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tidemill.aggregates.functions import BUILT_IN
from tidemill.aggregates.user.trying import try_out
from tidemill.catalog import Catalog, Code, code_of
from tidemill.catalog.aggregates import SCHEME, parse_source
from tidemill.errors import refuse
from tidemill.explain.replies import TEXT
from tidemill.language.statements import CreateAggregate
from tidemill.plan.functions import Signature
from tidemill.plan.functions.user import declared
from tidemill.plan.functions.user.declaring import declaration_of
from tidemill.plan.query import QueryPlan
from tidemill.types import BIGINT, DOUBLE, STRING, Type

AGGREGATE_COLUMNS = dict.fromkeys(("aggregate", "takes", "gives", "exact", "source"), TEXT)
_SOME_TYPE = Type("T")  # whichever the argument has
_SOME_TYPES = (BIGINT, DOUBLE, Type("DECIMAL", 10, 2), STRING)


def with_text(statement: CreateAggregate, base: Path, catalog: Catalog) -> CreateAggregate:
    """The statement with the text of its file, whose path is relative to the script.

    Where the file has gone, what stands in the catalog under the same address will do.
    """
    path, class_name = parse_source(statement)
    file = os.path.abspath(base / Path(path).expanduser())
    address = f"{SCHEME}:{file}{'#' if class_name else ''}{class_name}"
    anchored = replace(statement, source=address)
    if anchored.text is not None:
        return anchored
    standing = catalog.definition("aggregate", statement.name)
    try:
        return replace(anchored, text=Path(file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(standing, CreateAggregate) and standing.source == address:
            return replace(anchored, text=standing.text)
        refuse(
            "E_SOURCE",
            f"the file of aggregate {statement.name} cannot be read",
            detail=f"{file}: {getattr(error, 'strerror', None) or error}",
            hint="paths are relative to the script",
            place=statement.source_place,
        )


def check_aggregate(statement: CreateAggregate) -> None:
    """Refuses one that cannot be made, or that breaks a law."""
    if BUILT_IN.canonical(statement.name) is not None:
        refuse(
            "E_NAME",
            f"{statement.name.upper()} is an aggregate of SQL",
            hint="give it another name",
            place=statement.place,
        )
    code = code_of(statement)
    try_out(code, tuple(default for _, default in declared(code).constants))


def check_calls(plan: QueryPlan) -> None:
    """Other constants are another aggregate: it is tried with those of the query, too."""
    for call in plan.aggregates:
        if call.code is not None:
            try_out(call.code, call.parameters)


def statement_of(cls: type, or_replace: bool) -> CreateAggregate:
    """The statement that registers a class, with the text of the file it is defined in."""
    declaration = declaration_of(cls)
    if declaration is None:
        refuse(
            "E_AGGREGATE",
            f"class {cls.__name__} is no aggregate",
            hint="put @tidemill.aggregate(…) before the class",
        )
    try:
        file = inspect.getsourcefile(cls)
        text = Path(file or "").read_text(encoding="utf-8")
    except (OSError, TypeError):
        refuse(
            "E_AGGREGATE",
            f"class {cls.__name__} is in no file",
            hint="workers run the text of the file: put the class into one, with all it needs",
        )
    return CreateAggregate(
        declaration.name, f"{SCHEME}:{file}#{cls.__qualname__}", text, or_replace
    )


def aggregate_rows(catalog: Catalog) -> Iterator[tuple[str, ...]]:
    """For SHOW AGGREGATES: the built-in ones, then those of users."""
    yield from map(_built_in_row, BUILT_IN.by_name.values())
    for code in catalog.aggregates:
        declaration = declared(code)
        takes = [f"{argument.name} {argument.type}" for argument in declaration.written]
        takes += [f"[{name} = {default!r}]" for name, default in declaration.constants]
        yield code.name, ", ".join(takes), str(declaration.result), "as written", code.file


def _built_in_row(signature: Signature) -> tuple[str, ...]:
    exact = "yes" if signature.is_exact else "within bounds"
    takes = f"x: {signature.takes}"
    return signature.form.lower(), takes, _gives(signature), exact, "built in"


def _gives(signature: Signature) -> str:
    if (nested := signature.result(_SOME_TYPE)).inner:
        return nested.sql
    accepted = [kind for kind in _SOME_TYPES if signature.accepts(kind)]
    results = [signature.result(kind) for kind in accepted]
    if len(accepted) > 1 and results == accepted:
        return "the same type"
    return " or ".join(dict.fromkeys(kind.name for kind in results))


def aggregate_remarks(code: Code) -> list[str]:
    """Lines on how an aggregate is called and what it keeps, and its code."""
    declaration = declared(code)
    state = [
        f"{f.name} {f.type}{'' if f.length is None else f'[{f.length}]'}" for f in declaration.state
    ]
    head = [f"called as {declaration}", f"keeps {', '.join(state)}"]
    return [*head, *code.text.splitlines()]
