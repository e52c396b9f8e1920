"""Results of `lower`, as a column of the declared type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from tidemill.aggregates.user.states import MistakeError
from tidemill.types import Type


def as_result(values: Any, kind: Type, count: int) -> pa.Array:
    """An Arrow array as it is, NULLs and all; of NumPy's, a matrix is one list for each row."""
    try:
        array = _arrow(values)
    except (pa.ArrowException, TypeError) as error:
        raise MistakeError(f"it gives {type(values).__name__}: {error}") from None
    if len(array) != count:
        raise MistakeError(f"it gives {len(array)} results for {count} states")
    if not _may_be(array.type, kind.arrow):
        raise MistakeError(f"it gives {array.type}, and {kind} is declared")
    return array.cast(kind.arrow)


def _may_be(actual: pa.DataType, declared: pa.DataType) -> bool:
    """True if every value of one type is one of the other, or at least of its kind."""
    if pa.types.is_nested(declared) and pa.types.is_nested(actual):
        return _may_be(actual.value_type, declared.value_type)
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_timestamp)
    is_number = pa.types.is_floating(declared) and pa.types.is_integer(actual)
    alike = any(is_kind(actual) and is_kind(declared) for is_kind in kinds)
    return bool(is_number or alike or actual == declared or pa.types.is_null(actual))


def _arrow(values: Any) -> pa.Array:
    if isinstance(values, pa.ChunkedArray):
        return values.combine_chunks()
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])
    return values if isinstance(values, pa.Array) else pa.array(values)
