"""Plans that earlier releases have written, brought into the form of this one."""

from __future__ import annotations

from typing import Any

from tidemill.catalog import Catalog
from tidemill.engine.register.plan_json import to_plain
from tidemill.language.statements import CreateTable
from tidemill.plan.bind.binder import source_of
from tidemill.plan.expressions import Slot, TableColumn

# Fields of a synopsis that had another name.
_RENAMED = {"kept": "kept_lanes"}


def with_relation(synopsis: dict[str, Any], catalog: Catalog) -> dict[str, Any]:
    """A synopsis as JSON; one that names a stream and its joins gets the relation they make."""
    if "relation" in synopsis:
        return synopsis
    body = {
        _RENAMED.get(name, name): item
        for name, item in synopsis.items()
        if name not in ("stream", "joins")
    }
    relation = to_plain(source_of(catalog.stream(synopsis["stream"])))
    for join in synopsis["joins"]:
        relation = {"is": "TableJoin", "over": relation, "join": _with_columns(join, catalog)}
    return {**body, "relation": relation}


def _with_columns(join: dict[str, Any], catalog: Catalog) -> dict[str, Any]:
    """A join may outlive the declaration of its table, and then has no names for the columns."""
    table = catalog.definition("table", join["table"])
    columns = table.columns if isinstance(table, CreateTable) else ()
    slots = [Slot(TableColumn(join["name"], c.name).name, c.type) for c in columns]
    return {**join, "columns": to_plain(tuple(slots))}
