"""A few shapes of SVG, as text: boxes with lines of words, and curves between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate, zip_longest

FONT_PX = 12
LINE_PX = 16
# Of the sans-serif faces that browsers choose; on the wide side, so that words fit.
_CHARACTER_PX = 6.9
_PADDING_PX = 10
_COLUMN_GAP_PX = 10.0


@dataclass(frozen=True)
class TextBox:
    """A box of words; the first line is its title, and tabs part a line into columns."""

    lines: tuple[str, ...]
    fill: str
    left: float = 0.0
    top: float = 0.0

    @property
    def width(self) -> float:
        return sum(self._columns) - _COLUMN_GAP_PX + 2 * _PADDING_PX

    @property
    def _columns(self) -> list[float]:
        """Widths; the title may be wider than the columns under it."""
        title, *rows = (line.split("\t") for line in self.lines)
        columns = [max(map(len, column)) for column in zip_longest(*rows, fillvalue="")]
        widths = [length * _CHARACTER_PX + _COLUMN_GAP_PX for length in columns] or [0.0]
        widths[-1] += max(0.0, len(title[0]) * _CHARACTER_PX + _COLUMN_GAP_PX - sum(widths))
        return widths

    @property
    def height(self) -> float:
        return len(self.lines) * LINE_PX + _PADDING_PX

    @property
    def middle(self) -> float:
        return self.top + self.height / 2

    def draw(self, width: float) -> str:
        words = "".join(self._line(number, text) for number, text in enumerate(self.lines))
        shape = f'x="{self.left:.0f}" y="{self.top:.0f}" width="{width:.0f}"'
        return (
            f'<rect {shape} height="{self.height:.0f}" rx="4" fill="{self.fill}" '
            f'stroke="#667788"/>\n{words}'
        )

    def _line(self, number: int, text: str) -> str:
        weight = ' font-weight="bold"' if number == 0 else ""
        y = self.top + _PADDING_PX / 2 + (number + 0.75) * LINE_PX
        lefts = accumulate(self._columns, initial=self.left + _PADDING_PX)
        return "".join(
            f'<text x="{x:.0f}" y="{y:.0f}"{weight}>{escape(cell)}</text>\n'
            for x, cell in zip(lefts, text.split("\t"), strict=False)
        )


@dataclass(frozen=True)
class Curve:
    """From the right side of a box to the left side of another, however far.

    It bends within `bend_px`, the space between two columns, so as to miss the boxes between.
    """

    start: tuple[float, float]
    end: tuple[float, float]
    bend_px: float

    def draw(self) -> str:
        (x, y), (end, v) = self.start, self.end
        bent, half = x + self.bend_px, x + self.bend_px / 2
        path = f"M{x:.0f},{y:.1f} C{half:.0f},{y:.1f} {half:.0f},{v:.1f} {bent:.0f},{v:.1f}"
        return f'<path d="{path} H{end:.0f}" fill="none" stroke="#8899aa"/>\n'


def page(width: float, height: float, shapes: Iterable[str], title: Sequence[str]) -> str:
    """A whole document on white, with a title over it."""
    words = "".join(
        f'<text x="20" y="{24 + n * 18}" font-size="13">{escape(line)}</text>\n'
        for n, line in enumerate(title)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif" '
        f'font-size="{FONT_PX}" fill="#112233">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{words}{"".join(shapes)}</svg>\n'
    )
