"""One way to refuse: code, sentence, detail, hint, place.

Every error a user can meet is a `TidemillError` raised through `refuse`, so that
the terminal, the Python caller and a machine reader all see the same five parts.

>>> try:
...     refuse("E_UNKNOWN_COLUMN", "no column 'lenght' in stream packets",
...            hint=suggest("lenght", ["ts", "length"]), text="SELECT lenght", place=Place(7, 13))
... except TidemillError as error:
...     print(error.render())
error[E_UNKNOWN_COLUMN]: no column 'lenght' in stream packets
  line 1, column 8
    SELECT lenght
           ^^^^^^
  hint: did you mean 'length'?
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn


@dataclass(frozen=True)
class Place:
    """Half-open span of character offsets in the text of a script."""

    start: int
    end: int


@dataclass(frozen=True)
class Problem:
    """What went wrong, in parts; `TidemillError` carries one."""

    code: str
    primary: str
    detail: str = ""
    hint: str = ""
    text: str = ""
    place: Place | None = None

    def render(self) -> str:
        lines = [f"error[{self.code}]: {self.primary}"]
        if self.detail:
            lines += [f"  {line}" for line in self.detail.splitlines()]
        if self.place is not None and self.text:
            lines += _underline(self.text, self.place)
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, object]:
        line, column = _line_and_column(self.text, self.place) if self.place else (None, None)
        return {
            "code": self.code,
            "primary": self.primary,
            "detail": self.detail,
            "hint": self.hint,
            "line": line,
            "column": column,
        }


class TidemillError(Exception):
    """An error for the user; anything else that escapes is our bug."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.primary)
        self.problem = problem

    @property
    def code(self) -> str:
        return self.problem.code

    def render(self) -> str:
        return self.problem.render()

    def as_dict(self) -> dict[str, object]:
        return self.problem.as_dict()


def refuse(
    code: str,
    primary: str,
    *,
    detail: str = "",
    hint: str = "",
    text: str = "",
    place: Place | None = None,
) -> NoReturn:
    """The only place that raises a user-facing error."""
    raise TidemillError(Problem(code, primary, detail, hint, text, place))


def suggest(word: str, choices: Iterable[str]) -> str:
    """A guess at the likely slip, or nothing."""
    known = {choice.lower(): choice for choice in choices}
    close = difflib.get_close_matches(word.lower(), known, n=1, cutoff=0.6)
    return f"did you mean '{known[close[0]]}'?" if close else ""


def listing(label: str, choices: Iterable[str], most: int = 30) -> str:
    """`columns: a, b, c`, cut with a count when the list is long."""
    names = list(choices)
    if not names:
        return f"{label}: none"
    rest = f", and {len(names) - most} more" if len(names) > most else ""
    return f"{label}: {', '.join(names[:most])}{rest}"


def _line_and_column(text: str, place: Place) -> tuple[int, int]:
    before = text[: place.start]
    return before.count("\n") + 1, place.start - (before.rfind("\n") + 1) + 1


def _underline(text: str, place: Place) -> list[str]:
    line_number, column = _line_and_column(text, place)
    line = text.split("\n")[line_number - 1]
    width = max(1, min(place.end, place.start + len(line) - column + 1) - place.start)
    # Tabs are shown as one space so that the carets stand under the right letters.
    return [
        f"  line {line_number}, column {column}",
        f"    {line.replace(chr(9), ' ').rstrip()}",
        f"    {' ' * (column - 1)}{'^' * width}",
    ]
