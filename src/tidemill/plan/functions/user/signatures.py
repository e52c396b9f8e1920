"""How aggregates of users are called, beside the built-in ones."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from tidemill.catalog import Code
from tidemill.plan.expressions import Value
from tidemill.plan.functions import BUILT_IN, Known, Parameter, Signature
from tidemill.plan.functions.user.declaring import Constant, Declaration
from tidemill.plan.functions.user.loading import declared


def known_with(codes: Iterable[Code]) -> Known:
    """The built-in aggregates and these."""
    own = {code.name.upper(): _signature(code, declared(code)) for code in codes}
    return Known({**BUILT_IN.signatures, **own}) if own else BUILT_IN


def _signature(code: Code, found: Declaration) -> Signature:
    return Signature(
        name=code.name.upper(),
        takes=", ".join(f"{argument.name} {argument.type}" for argument in found.written),
        accepts=lambda _: True,
        result=lambda _: found.result,
        parameters=tuple(_parameter(name, default) for name, default in found.constants),
        arguments=tuple(argument.name for argument in found.written),
        code=code,
    )


def _parameter(name: str, default: Constant) -> Parameter:
    def wrong(value: Value) -> str:
        return "" if _fits(value, default) else f"it is {_WORDS[type(default)]}"

    return Parameter(name, wrong, default, is_required=False)


_WORDS = {bool: "0 or 1", int: "a whole number", float: "a number", str: "a text"}


def _fits(value: Value, default: Constant) -> bool:
    if isinstance(default, bool):
        return value in (0, 1)
    if isinstance(default, str):
        return isinstance(value, str)
    return isinstance(value, int) or (isinstance(default, float) and isinstance(value, Decimal))


def as_given(value: Value, default: Constant) -> Constant:
    """A constant of SQL in the type of its default."""
    return type(default)(value)  # type: ignore[arg-type]
