"""Classes that are wrong, each in one way; what they are told stands beside the tests."""

from __future__ import annotations

from tidemill.catalog import Code

_HEAD = """import numpy as np
import tidemill


@tidemill.aggregate(arguments={arguments}, state={state}, returns="{returns}")
class Broken:
    def identity(self):
        return {identity}

    def lift(self, x):
        return {lift}

    def combine(self, left, right):
        return {combine}

    def lower(self, state):
        return {lower}
{more}
"""
SUM = {
    "arguments": '{"x": "DOUBLE"}',
    "state": '{"m": "DOUBLE"}',
    "returns": "DOUBLE",
    "identity": '{"m": 0.0}',
    "lift": '{"m": x}',
    "combine": '{"m": left["m"] + right["m"]}',
    "lower": 'state["m"]',
    "more": "",
}
SUBTRACT = """
    def subtract(self, left, right):
        return {"m": left["m"]}
"""


def text_of(**changes: str) -> str:
    """A sum, but for what is changed."""
    text = _HEAD
    for word, value in {**SUM, **changes}.items():
        text = text.replace("{" + word + "}", value)
    return text


def code_of(**changes: str) -> Code:
    return Code("broken", text_of(**changes), "", "broken.py")


# Three that break a law, as an algebra would; then mistakes of other kinds.
LAWS = {
    "identity": code_of(identity='{"m": 1.0}'),
    "associativity": code_of(
        identity='{"m": 0.0}',
        combine='{"m": np.where(left["m"] * right["m"] == 0, left["m"] + right["m"],'
        ' (left["m"] + right["m"]) / 2)}',
    ),
    "commutativity": code_of(
        combine='{"m": np.where(right["m"] == 0, left["m"], right["m"])}',
    ),
    "subtract": code_of(more=SUBTRACT),
    "determinism": code_of(
        lift='{"m": 1.0}',
        combine='{"m": left["m"] + right["m"] + (left["m"] * right["m"] != 0)'
        " * np.random.rand() * np.ones_like(left['m'])}",
    ),
}
MISTAKES = {
    "raised KeyError: 'q'": code_of(combine='{"m": left["q"]}'),
    "raised ValueError: output array is read-only": code_of(
        combine='{"m": left["m"].__iadd__(right["m"])}'
    ),
    "its combine is not as declared": code_of(combine='{"q": left["m"]}'),
    "its identity is not as declared": code_of(identity="3"),
    "its lift is not as declared": code_of(lift='{"m": np.zeros(3)}'),
    "its lift does not look at each row by itself": code_of(lift='{"m": x.to_numpy()[0]}'),
    "its lower is not as declared": code_of(lower='state["m"][:3]'),
    "its lower gives another result": code_of(lower='state["m"] * np.random.rand()'),
}
