"""Options of generators, from the text of an address to the numbers of a model.

>>> rules = OptionRules("packets", {"rate": (1, 100), "duration_us": (1, 2**55)})
>>> rules.values({"rate": "50", "duration": "4s"})
{'rate': 50, 'duration_us': 4000000}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from tidemill.durations import parse_duration
from tidemill.errors import listing, refuse, suggest


@dataclass(frozen=True)
class OptionRules:
    """The fields of a generator's model and the values that each may have.

    All are whole numbers but for `fractions`. A field `duration_us` is also written as `duration`,
    with a unit; so are all that end like it and are named in `lengths`.
    """

    generator: str
    bounds: Mapping[str, tuple[float, float]]
    fractions: tuple[str, ...] = ()
    lengths: tuple[str, ...] = ("duration",)

    def check(self, model: object) -> None:
        """Refuses, with E_SOURCE, numbers that describe no stream."""
        for name, (least, most) in self.bounds.items():
            value = getattr(model, name)
            if value is not None and not least <= value <= most:
                self._refuse_value(name, value, f"it is {least} to {most}")

    def values(self, options: Mapping[str, str]) -> dict[str, Any]:
        """The fields of the model that `generate:…?name=value&…` asks for."""
        return dict(self._value(name, text) for name, text in options.items())

    def _value(self, name: str, text: str) -> tuple[str, float]:
        if name in self.lengths:
            return f"{name}_us", parse_duration(text)
        if name not in self.bounds:
            refuse(
                "E_SOURCE",
                f"no option '{name}' of generate:{self.generator}",
                detail=listing("options", self.bounds),
                hint=suggest(name, tuple(self.bounds)),
            )
        number = float if name in self.fractions else int
        try:
            return name, number(text)
        except ValueError:
            kind = "number" if number is float else "whole number"
            self._refuse_value(name, text, f"it is a {kind}")

    def _refuse_value(self, name: str, value: object, expected: str) -> NoReturn:
        primary = f"option {name} of generate:{self.generator} cannot be {value}"
        refuse("E_SOURCE", primary, detail=expected)
