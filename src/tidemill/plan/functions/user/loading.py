"""Text ⇒ class ⇒ object: made once in each process, whichever process that is."""

from __future__ import annotations

import sys
import traceback
from functools import lru_cache
from types import ModuleType
from typing import Any, NoReturn

from tidemill.catalog import Code
from tidemill.errors import TidemillError, listing, refuse
from tidemill.ids import fingerprint
from tidemill.plan.functions.user.declaring import Constant, Declaration, declaration_of

# Code of users may also try to end the process, which is not its to end.
USER_ERRORS = (Exception, SystemExit)


@lru_cache(maxsize=1024)
def declared(code: Code) -> Declaration:
    """The declaration in the user's class."""
    found = declaration_of(_class(code))
    assert found is not None
    return found


@lru_cache(maxsize=1024)
def make_aggregate(code: Code, constants: tuple[Constant, ...]) -> Any:
    """The aggregate with these constants, as its class makes it."""
    try:
        return _class(code)(*constants)
    except USER_ERRORS as error:
        refuse(
            "E_AGGREGATE",
            f"aggregate {code.name} cannot be made: {described(error)}",
            detail=user_line(code, error),
        )


@lru_cache(maxsize=256)
def _class(code: Code) -> type:
    classes = _marked(_module(code))
    name = code.class_name
    named = [cls for cls in classes if cls.__name__ == name] if name else classes
    if not name and len(classes) > 1:
        named = [cls for cls in classes if _name(cls) == code.name]
    if len(named) != 1:
        hint = (
            f"name one of them: SOURCE 'python:{code.file}#{classes[0].__name__}'"
            if classes
            else ""
        )
        refuse(
            "E_AGGREGATE",
            f"{code.file} has no class {name}" if name else f"{code.file} has no one aggregate",
            detail=listing("aggregates", (cls.__name__ for cls in classes)),
            hint=hint or "put @tidemill.aggregate(…) before the class",
        )
    return named[0]


def _name(cls: type) -> str:
    found = declaration_of(cls)
    return found.name.lower() if found else ""


def _marked(module: ModuleType) -> list[type]:
    classes = [value for value in vars(module).values() if isinstance(value, type)]
    mine = [cls for cls in classes if cls.__module__ == module.__name__]
    return [cls for cls in mine if declaration_of(cls) is not None]


def _module(code: Code) -> ModuleType:
    module = ModuleType(f"tidemill_aggregate_{fingerprint([code.name, code.text])}")
    # Data classes and the like look for the module of a class there.
    sys.modules[module.__name__] = module
    try:
        exec(compile(code.text, code.file, "exec"), module.__dict__)
    except TidemillError:
        raise
    except USER_ERRORS as error:
        _refuse_text(code, error)
    return module


def _refuse_text(code: Code, error: BaseException) -> NoReturn:
    line = user_line(code, error)
    if isinstance(error, SyntaxError) and error.filename == code.file:
        line = _line(code, error.lineno or 1)
    refuse("E_AGGREGATE", f"{code.file} cannot be run: {described(error)}", detail=line)


def described(error: BaseException) -> str:
    """The kind of an error and its message, in one line."""
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    first = message.strip().splitlines()[0] if message.strip() else ""
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def user_line(code: Code, error: BaseException) -> str:
    """The innermost line of the user's file in which it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    mine = [frame.lineno for frame in frames if frame.filename == code.file]
    return _line(code, mine[-1] or 1) if mine else ""


def _line(code: Code, number: int) -> str:
    lines = code.text.splitlines()
    shown = lines[number - 1].strip() if number <= len(lines) else ""
    return f"{code.file}, line {number}: {shown}"
