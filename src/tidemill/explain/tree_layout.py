"""Trees of boxes on a page, growing to the right; a box stands in the middle of its children."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tidemill.explain.svg import Curve, TextBox, page

_GAP_PX, _ROW_GAP_PX, _MARGIN_PX, _TITLE_PX = 56.0, 14.0, 20.0, 18.0


@dataclass(frozen=True)
class Tree:
    """A box in a column; columns below zero count from the right, as in a list."""

    box: TextBox
    column: int
    children: tuple[Tree, ...] = ()

    def walk(self) -> Iterator[Tree]:
        yield self
        for child in self.children:
            yield from child.walk()


def lay_out_trees(trees: Sequence[Tree], title: Sequence[str]) -> str:
    """An SVG page with the trees under each other."""
    widths = _column_widths(trees)
    top = _MARGIN_PX * 2 + _TITLE_PX * len(title)
    placed = []
    for tree in trees:
        bottom, positioned = _placed(tree, top, widths)
        placed.append(positioned)
        top = bottom + _ROW_GAP_PX
    boxes = [tree for root in placed for tree in root.walk()]
    shapes = [line.draw() for tree in boxes for line in _lines(tree, widths)]
    shapes += [tree.box.draw(widths[_at(tree, widths)]) for tree in boxes]
    width = sum(widths) + _GAP_PX * (len(widths) - 1) + 2 * _MARGIN_PX
    return page(width, top + _MARGIN_PX, shapes, title)


def _column_widths(trees: Sequence[Tree]) -> list[float]:
    boxes = [tree for root in trees for tree in root.walk()]
    from_left = max((tree.column for tree in boxes if tree.column >= 0), default=-1) + 1
    from_right = -min((tree.column for tree in boxes if tree.column < 0), default=0)
    widths = [0.0] * (from_left + from_right)
    for tree in boxes:
        widths[tree.column] = max(widths[tree.column], tree.box.width)
    return widths


def _at(tree: Tree, widths: Sequence[float]) -> int:
    return tree.column % len(widths)


def _placed(tree: Tree, top: float, widths: Sequence[float]) -> tuple[float, Tree]:
    """The bottom of the tree when it begins at `top`, and the tree with its boxes positioned."""
    children, below = [], top
    for child in tree.children:
        below, positioned = _placed(child, below, widths)
        children.append(positioned)
        below += _ROW_GAP_PX
    height = max(tree.box.height, below - _ROW_GAP_PX - top)
    centre = (children[0].box.middle + children[-1].box.middle) / 2 if children else top
    highest = top + height - tree.box.height
    place = min(max(top, centre - tree.box.height / 2), highest)
    at = _at(tree, widths)
    left = _MARGIN_PX + sum(widths[:at]) + _GAP_PX * at
    box = replace(tree.box, left=left, top=place)
    return top + height, replace(tree, box=box, children=tuple(children))


def _lines(tree: Tree, widths: Sequence[float]) -> Iterator[Curve]:
    right = tree.box.left + widths[_at(tree, widths)]
    for child in tree.children:
        yield Curve((right, tree.box.middle), (child.box.left, child.box.middle), _GAP_PX)
