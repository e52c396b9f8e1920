"""Forms: questions that differ in what they select, worked out together.

What HAVING keeps and ORDER BY and LIMIT choose is found once for all of them, and for the few
rows that are left every expression that some query selects is evaluated once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tidemill.answer.asked import Asked, Sheet
from tidemill.answer.shapes import Shape


@dataclass(frozen=True)
class Form:
    """Some of the questions as one; each has its queries' numbers in a run, and its outputs."""

    places: tuple[int, ...]  # of the questions
    asked: Asked
    first: tuple[int, ...]  # by question, the number of its first query here; then their end
    outputs: tuple[tuple[int, ...], ...]  # by question, places among the outputs here


def forms(asked: Sequence[Asked]) -> list[Form]:
    """Every question in one form."""
    places: dict[Hashable, list[int]] = {}
    for place, one in enumerate(asked):
        places.setdefault((one.wants_rows, _key(one.sheet.shape)), []).append(place)
    return [_form(mine, [asked[place] for place in mine]) for mine in places.values()]


def _key(shape: Shape) -> Hashable:
    """Constants in the select list would need names of their own, and where nothing is chosen
    every row would have to be worked out for the outputs of others: such shapes stay apart."""
    if shape.chooses and not shape.constant_outputs:
        return shape.keys, shape.parameters, shape.having, shape.order_by, shape.is_limited
    return shape


def _form(places: Sequence[int], asked: Sequence[Asked]) -> Form:
    shapes = [one.sheet.shape for one in asked]
    numbers: dict[Hashable, int] = {}
    outputs = tuple(
        tuple(numbers.setdefault(node, len(numbers)) for node in shape.outputs) for shape in shapes
    )
    nodes = dict.fromkeys(node for shape in shapes for node in shape.outputs)
    calls = dict.fromkeys(call for shape in shapes for call in shape.aggregates)
    shape = replace(shapes[0], aggregates=tuple(calls), outputs=tuple(nodes))
    first = np.concatenate([[0], np.cumsum([len(one.sheet) for one in asked])])
    sheet = Sheet(
        shape,
        (),
        tuple(values for one in asked for values in one.sheet.values),
        np.concatenate([one.sheet.limits for one in asked]),
        tuple(reading for one in asked for reading in one.sheet.readings),
    )
    together = Asked(
        sheet,
        np.concatenate([one.owner + low for one, low in zip(asked, first[:-1], strict=True)]),
        np.concatenate([one.starts for one in asked]),
        np.concatenate([one.ends for one in asked]),
        asked[0].wants_rows,
    )
    return Form(tuple(places), together, tuple(first.tolist()), outputs)
