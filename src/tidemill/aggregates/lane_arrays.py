"""Rows of a lane from several parts put together, whatever form they have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tidemill.aggregates import bags, encoded
from tidemill.aggregates.bags import Bags
from tidemill.aggregates.encoded import Encoded
from tidemill.aggregates.lanes.base import LaneArray


def concatenated(parts: Sequence[LaneArray]) -> LaneArray:
    """The rows of all parts of one lane, one part after the other."""
    if isinstance(parts[0], Bags):
        return bags.concatenate_bags(cast(Sequence[Bags], parts))
    return encoded.concatenate_encoded(cast(Sequence[Encoded], parts))
