"""The environment of a binding: all that the text of a query and its declarations leave open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar, cast

from tidemill.catalog import Table
from tidemill.errors import Place
from tidemill.plan.bind.clauses import TypeOracle
from tidemill.plan.functions import Signatures
from tidemill.plan.joins import JoinTerms, TableExtent
from tidemill.types import Type

T = TypeVar("T")
_MOST_RECALLED = 10_000
ExtentOracle = Callable[[JoinTerms, Table, Place | None], TableExtent]
"""(terms, table, place of its clause) ⇒ the rows that a join reads, or why there are none."""


def _no_type(sql: str, _columns: Mapping[str, Type]) -> NoReturn:
    raise AssertionError(f"{sql} should be in the typed set")


def no_extent(terms: JoinTerms, _table: Table, _place: Place | None) -> NoReturn:
    """For what is bound without any rows of tables."""
    raise AssertionError(f"table {terms.table} should not be joined")


class Memo:
    """Earlier results by key. When there are too many, all of them are forgotten."""

    def __init__(self) -> None:
        self._values: dict[object, Any] = {}

    def recall(self, key: object, work: Callable[[], T]) -> T:
        value = self._values.get(key, self)
        if value is self:
            value = work()
            if len(self._values) >= _MOST_RECALLED:
                self._values.clear()
            self._values[key] = value
        return cast(T, value)


@dataclass(frozen=True)
class Environment:
    """The signatures of aggregates, and the two oracles that are asked only when need be.

    Asking for a type may start Spark, and asking for an extent may read a table: types are
    asked for one expression at a time, extents when nothing else of a query can be refused.
    """

    signatures: Signatures
    type_of: TypeOracle = _no_type
    extent_of: ExtentOracle = no_extent
    # Of queries bound before with these signatures.
    memo: Memo = field(default_factory=Memo, compare=False, repr=False)
