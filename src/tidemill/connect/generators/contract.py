"""The contract of a generator: rows made from a seed, any second of them without those before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa

# The rows of a block arrive together.
BLOCK_US = 1_000_000


class Generator(Protocol):
    """A generated stream, as a value that can be pickled. Equal ones give equal rows."""

    @property
    def name(self) -> str:
        """The name as it stands in an address, after `generate:`."""

    @property
    def schema(self) -> pa.Schema:
        """The columns that it can make."""

    def block_count(self) -> int | None:
        """The number of blocks in the stream; None if it does not end."""

    def rows_in_block(self, block: int) -> int:
        """The number of rows that `make_block` gives, without making them."""

    def make_block(self, block: int, columns: Sequence[str]) -> pa.RecordBatch:
        """These columns of the rows that arrive in a block, in order of arrival."""
