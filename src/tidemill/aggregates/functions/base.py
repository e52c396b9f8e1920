"""An aggregate function: how it is called, which lanes it keeps, and what it makes of them.

A function is a class in a file of its own. One that needs a partial which no lane has declares
a class of `Lane` beside it. `functions/__init__.py` lists the functions, and nothing else has to
know them by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from tidemill.aggregates.lanes import Lane, PlainRow
from tidemill.aggregates.lowering import CombinedLanes, Lowered, Numbers
from tidemill.plan.functions import Signature
from tidemill.plan.query import AggregateCall


class Function(ABC):
    """An aggregate as SQL calls it; it has no state, and a call has all that differs."""

    signature: ClassVar[Signature]
    synonyms: ClassVar[tuple[str, ...]] = ()
    sibling: ClassVar[str] = ""  # the function that answers the same from bounded memory

    @abstractmethod
    def lanes(self, call: AggregateCall) -> tuple[Lane, ...]:
        """The lanes that the call is lowered from."""

    def gives_numbers(self, call: AggregateCall) -> bool:
        """Whether NumPy keeps the result as it is: `lower_numbers` then makes it, else `lower`."""
        kind = call.slot.type
        return not (kind.is_decimal or kind.inner or kind.name in ("STRING", "BINARY"))

    def lower_numbers(self, call: AggregateCall, lanes: CombinedLanes) -> Numbers:
        """The values as lanes keep them: whole numbers in 64 bits, floats as doubles."""
        raise NotImplementedError(f"{call.sql} gives no numbers")

    def lower(self, call: AggregateCall, lanes: CombinedLanes) -> Lowered:
        """The values of results that are no plain numbers."""
        raise NotImplementedError(f"{call.sql} gives numbers")

    @abstractmethod
    def reference(self, call: AggregateCall, rows: Sequence[PlainRow], start_us: int) -> Any:
        """The value over the rows of one window and group, in the plainest way.

        `rows` have the arguments of the call; `start_us` is where the window begins.
        """
