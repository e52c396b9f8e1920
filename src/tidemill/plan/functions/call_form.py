"""How an aggregate is called, and what it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidemill.catalog import Code
from tidemill.plan.expressions import Value
from tidemill.types import Type


@dataclass(frozen=True)
class Parameter:
    """A constant after the argument, by its place or as `name => constant`.

    `wrong` says what is wrong with a value, as the end of a sentence; empty if nothing is.
    """

    name: str
    wrong: Callable[[Value], str]
    default: Value = None
    is_required: bool = True


@dataclass(frozen=True)
class Signature:
    """An aggregate: `accepts` tells over which types it is, `takes` says the same in words.

    `cast` is the type that an argument is cast to first, as Spark does with text that it adds
    up; `parts` are the further columns that an answer has beside the value itself, as `low`
    and `high`; `weighted` is the result of one that ends in `SUM(y)`, if it may; `fits` says
    what is wrong with the constants for an argument of some type. One that `estimates` makes
    the answer say whether it did; one that is not exact gives bounds. The last constant of one
    that counts `by_subwindow` is the length of the window's parts. `arguments` are what a call
    is shown with, `shown` is the form of one that is written otherwise; `code` is there for one
    that a user has written.
    """

    name: str
    takes: str
    accepts: Callable[[Type], bool]
    result: Callable[[Type], Type]
    cast: Callable[[Type], Type | None] = lambda _: None
    parameters: tuple[Parameter, ...] = ()
    parts: tuple[tuple[str, Callable[[Type], Type]], ...] = ()
    weighted: Callable[[Type, Type], Type] | None = None
    fits: Callable[[Type, tuple[Value, ...]], str] = lambda *_: ""
    estimates: bool = False
    is_exact: bool = True
    by_subwindow: bool = False
    shown: str = ""
    arguments: tuple[str, ...] = ("x",)
    code: Code | None = None

    @property
    def form(self) -> str:
        """How it is called, as text."""
        words = [
            *self.arguments,
            *(p.name if p.is_required else f"[{p.name}]" for p in self.parameters),
        ]
        words += ["[SUM(y)]"] if self.weighted else []
        return self.shown or f"{self.name}({', '.join(words)})"

    def result_of(self, argument: Type, weight: Type | None) -> Type:
        if weight is None or self.weighted is None:
            return self.result(argument)
        return self.weighted(argument, weight)
