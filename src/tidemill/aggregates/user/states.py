"""States of a user's aggregate as records: NumPy keeps the fields, users see them as columns.

Beside the fields of its declaration a state has the number of times that the user's code has
raised on the way to it; where that is not zero, nothing else of it counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from tidemill.arrays import Array
from tidemill.plan.functions.user import Field

RAISED = "_raised"
_NUMPY = {
    "BOOLEAN": "?",
    "TINYINT": "i1",
    "SMALLINT": "i2",
    "INT": "i4",
    "BIGINT": "i8",
    "FLOAT": "f4",
    "DOUBLE": "f8",
    "DATE": "M8[D]",
    "TIMESTAMP": "M8[us]",
    "TIMESTAMP_NTZ": "M8[us]",
}


class MistakeError(Exception):
    """A user's method gave something other than it declares."""


@dataclass(frozen=True)
class States:
    """The layout of states of one aggregate."""

    fields: tuple[Field, ...]

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        own = [(f.name, *_plain(f)) for f in self.fields]
        return np.dtype([*own, (RAISED, "i8")], align=True)

    def columns(self, records: Array) -> dict[str, Array]:
        """The fields, for the user to read."""
        columns = {}
        for field in self.fields:
            view = records[field.name]
            view.flags.writeable = False
            columns[field.name] = view
        return columns

    def records(self, state: Any, count: int | None) -> Array:
        """The result of a method as so many records; None: as a single one."""
        if not isinstance(state, Mapping) or set(state) != {f.name for f in self.fields}:
            shown = sorted(map(str, state)) if isinstance(state, Mapping) else type(state).__name__
            names = sorted(field.name for field in self.fields)
            raise MistakeError(f"it gives {shown}, and a state is a mapping with {names}")
        shape = () if count is None else (count,)
        records = np.zeros(shape, self.dtype)
        for field in self.fields:
            records[field.name] = _fitted(field, state[field.name], shape)
        return records

    def to_arrow(self, records: Array) -> pa.StructArray:
        """One column of structs; times are kept as numbers, since NaT is not NULL."""
        arrays = [_to_arrow(records[name]) for name in self.dtype.names or ()]
        return pa.StructArray.from_arrays(arrays, self.dtype.names)

    def from_arrow(self, structs: pa.StructArray) -> Array:
        records = np.zeros(len(structs), self.dtype)
        for name, array in zip(self.dtype.names or (), structs.flatten(), strict=True):
            target = records[name]
            values = array.flatten() if pa.types.is_fixed_size_list(array.type) else array
            plain = values.to_numpy(zero_copy_only=False)
            target[...] = plain.view(target.dtype).reshape(target.shape)
        return records


def _plain(field: Field) -> tuple[Any, ...]:
    kind = _NUMPY[field.type.name]
    return (kind,) if field.length is None else (kind, (field.length,))


def _fitted(field: Field, column: Any, shape: tuple[int, ...]) -> Array:
    """The values of a field, or a mistake that says how they are not."""
    values = as_numpy(column)
    full_shape = shape if field.length is None else (*shape, field.length)
    kind = np.dtype(_NUMPY[field.type.name])
    if not np.can_cast(values.dtype, kind, "same_kind"):
        raise MistakeError(f"field {field.name} is {values.dtype}, and {field.type} is declared")
    try:
        return np.broadcast_to(values, full_shape)
    except ValueError:
        raise MistakeError(
            f"field {field.name} has the shape {values.shape}, and {full_shape} is wanted"
        ) from None


def as_numpy(column: Any) -> Array:
    """Whatever array a user has made."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not isinstance(column, pa.Array):
        return np.asarray(column)
    if column.null_count:
        raise MistakeError("a field of a state has NULLs")
    if pa.types.is_fixed_size_list(column.type):
        return as_numpy(column.flatten()).reshape(len(column), column.type.list_size)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _to_arrow(values: Array) -> pa.Array:
    plain = np.ascontiguousarray(values)
    if plain.dtype.kind == "M":
        plain = plain.view(np.int64)
    flat = pa.array(plain.ravel())
    return flat if plain.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, plain.shape[1])
