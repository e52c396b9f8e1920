"""`@tidemill.aggregate`: what a class says of itself, read once when it is defined.

>>> @aggregate(arguments={"x": "DOUBLE"}, state={"top": "DOUBLE[3]"}, returns="ARRAY<DOUBLE>")
... class TopThree:
...     def __init__(self, least: float = 0.0): ...
...     def identity(self): ...
...     def lift(self, x): ...
...     def combine(self, left, right): ...
...     def lower(self, state): ...
>>> print(declaration_of(TopThree))
top_three(x DOUBLE, [least = 0.0]) → ARRAY<DOUBLE>
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from tidemill.errors import listing, refuse
from tidemill.plan.functions.user.texts import parse_argument, parse_field, parse_result
from tidemill.types import Type

_Class = TypeVar("_Class", bound=type)
Constant = bool | int | float | str
_MARK = "__tidemill_aggregate__"
# What each method is given besides the arguments.
_METHODS = {"identity": (), "combine": ("left", "right"), "lower": ("state",)}
_BEFORE_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True)
class Argument:
    """An argument of `lift`; the time of the row is not written in SQL."""

    name: str
    type: Type
    is_time: bool = False


@dataclass(frozen=True)
class Field:
    """A part of a state; with a `length` it is a list of so many."""

    name: str
    type: Type
    length: int | None = None


@dataclass(frozen=True)
class Declaration:
    """The declaration of an aggregate: its call, its state and its result.

    `constants` are what the constructor takes, each with its default.
    """

    name: str
    arguments: tuple[Argument, ...]
    state: tuple[Field, ...]
    result: Type
    constants: tuple[tuple[str, Constant], ...]
    subtracts: bool

    @property
    def written(self) -> tuple[Argument, ...]:
        """The arguments that stand in SQL."""
        return tuple(argument for argument in self.arguments if not argument.is_time)

    def __str__(self) -> str:
        words = [f"{argument.name} {argument.type}" for argument in self.written]
        words += [f"[{name} = {default!r}]" for name, default in self.constants]
        return f"{self.name}({', '.join(words)}) → {self.result}"


def aggregate(
    *, arguments: Mapping[str, str], state: Mapping[str, str], returns: str, name: str = ""
) -> Callable[[_Class], _Class]:
    """Marks a class as an aggregate with `identity`, `lift`, `combine`, `lower`, may be `subtract`.

    `arguments` are the SQL types of what `lift` takes, in order; one of type `EVENT TIME` is
    the time of the row and is not written in SQL. `state` has the types of a state's fields,
    `DOUBLE[20]` for a list of twenty, `returns` that of the result. In SQL it goes by `name`,
    or by the name of the class in lower case; what the constructor takes are its constants.
    """

    def mark(cls: _Class) -> _Class:
        declaration = Declaration(
            name=name or _BEFORE_CAPITAL.sub("_", cls.__name__).lower(),
            arguments=tuple(
                Argument(key, *parse_argument(cls, key, text)) for key, text in arguments.items()
            ),
            state=tuple(Field(key, *parse_field(cls, key, text)) for key, text in state.items()),
            result=parse_result(cls, returns),
            constants=_constants(cls),
            subtracts=hasattr(cls, "subtract"),
        )
        _check(cls, declaration)
        setattr(cls, _MARK, declaration)
        return cls

    return mark


def declaration_of(cls: type) -> Declaration | None:
    """The attributes that a class declares itself; inherited ones do not count."""
    found: Declaration | None = vars(cls).get(_MARK)
    return found


def _constants(cls: type) -> tuple[tuple[str, Constant], ...]:
    if cls.__init__ is object.__init__:  # type: ignore[misc]
        return ()
    parameters = list(inspect.signature(cls).parameters.values())
    for parameter in parameters:
        if not isinstance(parameter.default, bool | int | float | str):
            _refuse(
                cls,
                f"the constructor's {parameter.name} has no default",
                hint="give each constant a number or a text as its default",
            )
    return tuple((parameter.name, parameter.default) for parameter in parameters)


def _check(cls: type, declaration: Declaration) -> None:
    if not declaration.arguments or not declaration.state:
        _refuse(cls, "an aggregate has at least one argument and one field of state")
    methods = {**_METHODS, "lift": tuple(argument.name for argument in declaration.arguments)}
    methods |= {"subtract": ("left", "right")} if declaration.subtracts else {}
    missing = [method for method in methods if not callable(getattr(cls, method, None))]
    if missing:
        _refuse(
            cls,
            f"there is no method {missing[0]}",
            detail=listing("methods", methods),
            hint=f"add def {missing[0]}({', '.join(('self', *methods[missing[0]]))})",
        )
    for method, parameters in methods.items():
        _check_method(cls, method, parameters)


def _check_method(cls: type, method: str, parameters: tuple[str, ...]) -> None:
    signature = inspect.signature(getattr(cls, method))
    try:
        signature.bind("self", *parameters)
    except TypeError:
        call = f"{method}({', '.join(('self', *parameters))})"
        _refuse(cls, f"it has {method}{signature}, and {call} is called")


def _refuse(cls: type, primary: str, detail: str = "", hint: str = "") -> NoReturn:
    refuse("E_AGGREGATE", f"class {cls.__name__}: {primary}", detail=detail, hint=hint)
