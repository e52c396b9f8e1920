"""Signatures of users' aggregates."""

from __future__ import annotations

from decimal import Decimal

from tidemill.catalog import Code
from tidemill.plan.expressions import Value
from tidemill.plan.functions import Parameter, Signature
from tidemill.plan.functions.user.declaring import Constant
from tidemill.plan.functions.user.loading import declared


def signature_of(code: Code) -> Signature:
    """The signature of a user's aggregate."""
    declaration = declared(code)
    return Signature(
        name=code.name.upper(),
        takes=", ".join(f"{argument.name} {argument.type}" for argument in declaration.written),
        accepts=lambda _: True,
        result=lambda _: declaration.result,
        parameters=tuple(_parameter(name, default) for name, default in declaration.constants),
        arguments=tuple(argument.name for argument in declaration.written),
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
