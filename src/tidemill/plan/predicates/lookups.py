"""The lookups by which a row finds its signature, every predicate evaluated once.

The constants of all predicates cut each column's line into stretches. A row's place on the line
is found once per column, by binary search, and tables say which bits that place allows; the
bits that all columns allow hold. So the work per row grows with the columns that are looked at
and with the words, hardly with the number of predicates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tidemill.language.names import quote_name
from tidemill.plan.expressions import Scalar, Slot
from tidemill.plan.predicates.boxes import Dimension
from tidemill.plan.predicates.predicate import Predicate
from tidemill.plan.predicates.signatures import MaskLayout, lay_out_masks, mask_table
from tidemill.plan.predicates.values import CutPoint
from tidemill.types import BOOLEAN

Read = Callable[[Scalar], str]


@dataclass(frozen=True)
class Lookup:
    """The cuts of a column's line and, for some words, the mask of every place.

    Java's binary search among n cuts tells the place of a value by a number from -n - 1 to
    n - 1; `masks` begins with the least of these, and ends with one more for NULL.
    """

    column: Slot
    cuts: tuple[CutPoint, ...]
    tables: tuple[tuple[int, tuple[int, ...]], ...]


@dataclass(frozen=True)
class SignatureSql:
    """`words` are SQL over the columns that the lookups give: one for each word they name."""

    lookups: tuple[Lookup, ...]
    words: tuple[str, ...]


def signature_sql(bits: Mapping[int, Predicate], read: Read) -> SignatureSql:
    """The words of a row's signature, 63 bits each.

    `read` gives the SQL by which the value of an opaque condition is read.
    """
    layout = lay_out_masks(bits)
    lines = [
        each for each in layout.dimensions() if isinstance(each, Slot) and each.type != BOOLEAN
    ]
    words = tuple(_word(layout, word, read) for word in range(layout.words))
    return SignatureSql(tuple(_lookup(layout, column) for column in lines), words)


def lookup_column(word: int) -> str:
    """The name under which the lookups give what they allow of a word."""
    return f"_w{word}"


def _lookup(layout: MaskLayout, column: Slot) -> Lookup:
    cuts = layout.cuts(column)
    # Padded, so that the generated code changes only when the number of cuts has doubled.
    padding = (1 << len(cuts).bit_length()) - 1 - len(cuts)
    padded = cuts + cuts[-1:] * padding
    tables = (
        (word, _by_place(mask_table(layout.in_word(word), column, cuts), padding))
        for word in layout.restricted_words(column)
    )
    return Lookup(column, padded, tuple(tables))


def _by_place(masks: list[int], padding: int) -> tuple[int, ...]:
    """Masks by stretch ⇒ masks by the outcome of a search: not found, found, NULL."""
    *stretches, null = masks
    stretches += stretches[-1:] * padding
    return (*reversed(stretches), *stretches[1:], null)


def _word(layout: MaskLayout, word: int, read: Read) -> str:
    spares = layout.spare_masks(word).items()
    others = [f"({_boxes(layout, spare, read)} & {mask}L)" for spare, mask in spares]
    return " | ".join([_boxes(layout, word, read), *others])


def _boxes(layout: MaskLayout, word: int, read: Read) -> str:
    """The boxes of one word that hold: those which every side allows."""
    sides = [each for each in layout.dimensions() if word in layout.restricted_words(each)]
    truths = [each for each in sides if each.type == BOOLEAN]
    factors = [_truth(layout, word, each, read) for each in truths]
    looked_up = [lookup_column(word)] if len(truths) < len(sides) else []
    return f"({' & '.join([*looked_up, *factors])})" if sides else "0L"


def _truth(layout: MaskLayout, word: int, dimension: Dimension, read: Read) -> str:
    """The mask of a word that a truth value allows."""
    value = quote_name(dimension.name) if isinstance(dimension, Slot) else read(dimension)
    cuts = layout.cuts(dimension)
    no, yes, null = (f"{mask}L" for mask in mask_table(layout.in_word(word), dimension, cuts))
    if no == null:
        return f"IF({value}, {yes}, {no})"
    return f"CASE WHEN {value} THEN {yes} WHEN {value} IS NULL THEN {null} ELSE {no} END"
