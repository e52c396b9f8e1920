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

# Every code, with its meaning; a problem cannot be made with any other.
CODES = {
    # The text of a statement
    "E_SYNTAX": "the text is not in the language",
    "E_WINDOW": "the window cannot be read, or is of no kind that works",
    "E_EMIT": "answers cannot come in the way that EMIT asks for",
    "E_DURATION": "the duration cannot be read, or is out of range",
    "E_ADVANCE": "nothing can be promised of this stream, or not this instant",
    "E_OPTION": "the option is unknown, is there twice, or has a wrong value",
    "E_NAME": "the name cannot be used",
    "E_NOT_BUILT": "the statement is part of the language and not built yet",
    # Names
    "E_UNKNOWN_STREAM": "no stream has the name",
    "E_UNKNOWN_TABLE": "no table has the name",
    "E_UNKNOWN_SINK": "no sink has the name",
    "E_UNKNOWN_AGGREGATE": "no aggregate has the name",
    "E_UNKNOWN_QUERY": "no query has the name",
    "E_UNKNOWN_COLUMN": "no column in scope has the name",
    "E_UNKNOWN_NAME": "nothing in the catalog has the name",
    "E_UNKNOWN_TYPE": "no type has the name",
    "E_AMBIGUOUS": "several columns have the name",
    "E_NOT_A_STREAM": "a table stands where a stream must",
    "E_EXISTS": "the name is taken by another definition",
    "E_IN_USE": "queries or streams use the definition, so it cannot change or go",
    "E_DUPLICATE": "two columns or tables of a statement have one name",
    "E_UNION": "the members of a union do not fit each other",
    "E_NO_TIME": "what needs the time of rows has none: in a derived stream, or over a latent one",
    "E_RELATION": "the parts of a relation do not fit together",
    # Expressions
    "E_TYPE": "the expression has a type that does not fit",
    "E_FUNCTION": "Spark has no such function, or it cannot be used here",
    "E_ARGUMENTS": "the function is called with wrong arguments",
    "E_NOT_DETERMINISTIC": "the function gives another value each time",
    "E_SUBWINDOW": "a sub-window is no whole number of slides",
    "E_UNGROUPED": "the column is neither aggregated nor a group key",
    "E_AGGREGATE_IN_WHERE": "an aggregate stands in WHERE",
    "E_AGGREGATE_IN_GROUP_BY": "an aggregate stands in GROUP BY",
    "E_AGGREGATE_IN_ON": "an aggregate stands in ON",
    "E_AGGREGATE_IN_CREATE_STREAM": "an aggregate stands among the columns of a stream",
    "E_NESTED_AGGREGATE": "an aggregate stands inside another",
    "E_POSITION": "the select list has no such position",
    "E_AGGREGATE": "the class of an aggregate is wrong, or breaks a law",
    # Places
    "E_SOURCE": "the source cannot be read, or is of no kind that there is",
    "E_SINK": "the sink cannot be written, or is of no kind that there is",
    "E_FOLDER": "the folder is not empty",
    "E_SCRIPT": "the script cannot be read",
    "E_GRAPH": "the drawing cannot be written",
    "E_DEMO": "the folder of the demo holds something else",
    # Running
    "E_SETTING": "the setting is unknown, or has a wrong value",
    "E_VALUE_MEMORY": "the query is stopped, as its counted values take too much memory",
    "E_RESULT_ROWS": "the query is stopped, as a tick would make too many of its rows",
    "E_HELD": "a stream is ahead of another one, and too much of it is held",
    "E_NOT_HELD": "no standing query has kept what a one-time query asks for",
    "E_NO_ANSWERS": "the sink of the query cannot be read back",
    "E_HOME": "the home cannot be used",
    "E_HOME_BUSY": "another process holds the home",
    "E_NOT_ANSWERED": "the run ended before it answered",
    "E_INTERNAL": "the engine failed over a statement of another process",
    "E_JAVA": "no Java that Spark can run on",
    "E_SPARK": "Spark did not start",
    "E_RUN": "the run failed, or was asked to end in no way that there is",
}


@dataclass(frozen=True)
class Place:
    """Half-open span of character offsets in the text of a script."""

    start: int
    end: int

    def moved(self, by: int) -> Place:
        return Place(self.start + by, self.end + by)


@dataclass(frozen=True)
class Problem:
    """An error in its parts; `TidemillError` carries one."""

    code: str
    primary: str
    detail: str = ""
    hint: str = ""
    text: str = ""
    place: Place | None = None

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"{self.code} is not in the register of codes")

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
