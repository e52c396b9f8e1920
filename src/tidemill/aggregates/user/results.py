"""What `lower` gives, as a column of the declared type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from tidemill.aggregates.user.states import MistakeError
from tidemill.types import Type


def as_result(given: Any, kind: Type, count: int) -> pa.Array:
    """An Arrow array as it is, NULLs and all; of NumPy's, a matrix is one list for each row."""
    try:
        array = _arrow(given)
    except (pa.ArrowException, TypeError) as error:
        raise MistakeError(f"it gives {type(given).__name__}: {error}") from None
    if len(array) != count:
        raise MistakeError(f"it gives {len(array)} results for {count} states")
    if not _may_be(array.type, kind.arrow):
        raise MistakeError(f"it gives {array.type}, and {kind} is declared")
    return array.cast(kind.arrow)


def _may_be(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether every value of one type is one of the other, or at least of its kind."""
    if pa.types.is_nested(wanted) and pa.types.is_nested(given):
        return _may_be(given.value_type, wanted.value_type)
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_timestamp)
    is_number = pa.types.is_floating(wanted) and pa.types.is_integer(given)
    alike = any(is_kind(given) and is_kind(wanted) for is_kind in kinds)
    return bool(is_number or alike or given == wanted or pa.types.is_null(given))


def _arrow(given: Any) -> pa.Array:
    if isinstance(given, pa.ChunkedArray):
        return given.combine_chunks()
    if isinstance(given, np.ndarray) and given.ndim == 2:
        return pa.FixedSizeListArray.from_arrays(pa.array(given.ravel()), given.shape[1])
    return given if isinstance(given, pa.Array) else pa.array(given)
