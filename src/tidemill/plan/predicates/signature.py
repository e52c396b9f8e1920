"""The signature of a row in Spark SQL, every predicate evaluated once.

The constants of all predicates cut each column's line into stretches. A row's stretch is found
once per column, by a balanced tree of comparisons, and a table says which bits that stretch
allows; the bits that all columns allow hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from tidemill.language.names import quote_name, quote_text
from tidemill.plan.expressions import Slot
from tidemill.plan.model import Scalar
from tidemill.plan.predicates.boxes import Dimension
from tidemill.plan.predicates.layout import Layout, lay_out, mask_table, restricts
from tidemill.plan.predicates.predicate import Predicate
from tidemill.plan.predicates.values import Cut
from tidemill.types import BOOLEAN, DATE, STRING, TIMESTAMP, Type

_SUFFIXES = {"TINYINT": "Y", "SMALLINT": "S", "BIGINT": "L", "TIMESTAMP": "L"}


@dataclass(frozen=True)
class SignatureSql:
    """`levels`: items to select in successive nested queries; `words` are expressions on them."""

    levels: tuple[tuple[str, ...], ...]
    words: tuple[str, ...]


def signature_sql(bits: Mapping[int, Predicate], read: Callable[[Scalar], str]) -> SignatureSql:
    """SQL for the words of a row's signature, 63 bits each.

    `read` gives the SQL by which the value of an opaque condition is read.
    """
    layout = lay_out(bits)
    dimensions = layout.dimensions()
    places = {dimension: f"_i{number}" for number, dimension in enumerate(dimensions)}
    items = tuple(
        f"{_place(dimension, layout.cuts(dimension), read)} AS {name}"
        for dimension, name in places.items()
    )
    words = tuple(_word(layout, word, places) for word in range(layout.words))
    return SignatureSql((items,) if items else (), words)


def _word(layout: Layout, word: int, places: Mapping[Dimension, str]) -> str:
    spares = layout.spare_masks(word).items()
    others = [f"({_boxes(layout, spare, places)} & {mask}L)" for spare, mask in spares]
    return " | ".join([_boxes(layout, word, places), *others])


def _boxes(layout: Layout, word: int, places: Mapping[Dimension, str]) -> str:
    """The boxes of one word that hold: those which every side allows."""
    placed = layout.in_word(word)
    factors = [
        f"{_table(mask_table(placed, dimension, layout.cuts(dimension)))}[{place}]"
        for dimension, place in places.items()
        if restricts(placed, dimension)
    ]
    return f"({' & '.join(factors)})" if factors else "0L"


def _table(masks: Sequence[int]) -> str:
    return f"ARRAY({', '.join(f'{mask}L' for mask in masks)})"


def _place(dimension: Dimension, cuts: tuple[Cut, ...], read: Callable[[Scalar], str]) -> str:
    """The number of the stretch that a row's value lies in; NULL comes last."""
    if isinstance(dimension, Scalar):
        return f"COALESCE(INT({read(dimension)}), 2)"
    name = quote_name(dimension.name)
    if dimension.type == BOOLEAN:
        return f"COALESCE(INT({name}), 2)" if cuts else f"IF({name} IS NULL, 1, 0)"
    line = _line(name, dimension)
    return f"IF({name} IS NULL, {len(cuts) + 1}, {_tree(line, cuts, dimension.type, 0)})"


def _line(name: str, slot: Slot) -> str:
    if slot.type == DATE:
        return f"UNIX_DATE({name})"
    return f"UNIX_MICROS({name})" if slot.type == TIMESTAMP else name


def _tree(line: str, cuts: tuple[Cut, ...], type: Type, first: int) -> str:
    if not cuts:
        return str(first)
    middle = len(cuts) // 2
    below = _tree(line, cuts[:middle], type, first)
    above = _tree(line, cuts[middle + 1 :], type, first + middle + 1)
    return f"IF({line} < {_constant(cuts[middle], type)}, {below}, {above})"


def _constant(cut: Cut, type: Type) -> str:
    if type == STRING:
        return quote_text(cut.decode())
    if type.is_decimal:
        return f"CAST({Decimal(cut).scaleb(-type.scale)} AS {type})"
    return f"{cut}{_SUFFIXES.get(type.name, '')}"
