"""Wide integers as arrays: limbs of 32 bits kept in int64, the least significant first.

The value of a row is the sum of `limb[i] * 2^(32 i)`. *Normalised* limbs lie in `[0, 2^32)`
except the top one, which carries the sign. The 32 spare bits are what lets limbs be added
without carrying: a sum of fewer than 2^31 normalised rows cannot overflow a lower limb, and the
top limb holds as long as the true sum stays within ±2^63 units of the top limb. Prefix sums over
2^20 slices, each normalised, are far inside that bound.

>>> total = split_int64(np.array([2**63 - 1, 2**63 - 1])).sum(axis=0)
>>> to_decimal(total[None], 38, 0)[0].as_py()
Decimal('18446744073709551614')
>>> to_int64(total[None])
(array([0]), array([ True]))
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tidemill.arrays import Array, BoolArray, IntArray

_BITS = 32
_MASK = 2**_BITS - 1
_SIGN = 2 ** (_BITS - 1)
_DECIMAL_LIMBS = 4
# Below this an estimate in doubles is far enough from the end of 64 bits.
_SURE_SUM = 2.0**62


def split_int64(values: IntArray) -> IntArray:
    """Two normalised limbs of each integer, on a new last axis."""
    values = np.asarray(values, dtype=np.int64)
    return np.stack([values & _MASK, values >> _BITS], axis=-1)


def split_decimal(array: pa.Decimal128Array) -> IntArray:
    """Four normalised limbs of each unscaled decimal, shape (n, 4); zero for NULL."""
    count = len(array)
    if count == 0:
        return np.zeros((0, _DECIMAL_LIMBS), np.int64)
    words = np.frombuffer(array.buffers()[1], dtype="<u4")
    first = array.offset * _DECIMAL_LIMBS
    words = words[first : first + count * _DECIMAL_LIMBS].reshape(count, _DECIMAL_LIMBS)
    limbs = words.astype(np.int64)
    limbs[:, -1] -= (limbs[:, -1] & _SIGN) << 1
    if array.null_count:
        # What lies under a NULL is not defined, and must not be summed.
        limbs[array.is_null().to_numpy(zero_copy_only=False)] = 0
    return limbs


def normalise(limbs: IntArray) -> IntArray:
    """The same values with carries moved up; the input is left alone."""
    limbs = limbs.copy()
    for i in range(limbs.shape[-1] - 1):
        limbs[..., i + 1] += limbs[..., i] >> _BITS
        limbs[..., i] &= _MASK
    return limbs


def fitted(limbs: IntArray) -> IntArray:
    """Normalised rows as one 64-bit integer each if every one fits, else as given."""
    if limbs.shape[-1] == 2:
        low, high = limbs[:, 0], limbs[:, 1]
        return high << _BITS | low if np.all((high >= -_SIGN) & (high < _SIGN)) else limbs
    values, overflow = to_int64(limbs)
    return limbs if overflow.any() else values


def multiplied(values: Array, weights: IntArray) -> Array:
    """Numbers, or limbs, each times its weight; integers stay such if the sum of all fits.

    >>> multiplied(np.array([5, -7]), np.array([2, 3])).tolist()
    [10, -21]
    >>> multiplied(np.array([2**40, -7]), np.array([2**40, 3])).shape
    (2, 3)
    """
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.asarray(values * weights)
    if values.ndim == 2:
        return times(values, weights)
    if _fits(values, weights):
        return values * weights
    return times(split_int64(values), weights)


def _fits(values: IntArray, weights: IntArray) -> bool:
    """True if the sum of all products surely fits 64 bits; mostly the largest of them tell."""
    if not len(values):
        return True
    largest = max(int(values.max()), -int(values.min())) * int(weights.max())
    if largest * len(values) < _SURE_SUM:
        return True
    sizes = np.abs(values.astype(np.float64))
    sizes *= weights
    return float(sizes.sum()) < _SURE_SUM


def summable(values: IntArray) -> IntArray:
    """Integers, or normalised limbs, as integers if the sum of any of them fits, else as limbs.

    >>> summable(split_int64(np.array([5, -7]))).tolist()
    [5, -7]
    >>> summable(np.array([2**62, -7])).shape
    (2, 2)
    """
    narrowed = fitted(values) if values.ndim == 2 else values
    if narrowed.ndim == 2 or float(np.abs(narrowed.astype(np.float64)).sum()) < _SURE_SUM:
        return narrowed
    return values if values.ndim == 2 else split_int64(values)


def times(limbs: IntArray, weights: IntArray) -> IntArray:
    """Rows of limbs, each times its weight, in as many limbs as it takes; no weight is negative.

    >>> to_decimal(times(split_int64(np.array([-(2**62)])), np.array([2**62])), 38, 0)[0].as_py()
    Decimal('-21267647932558653966460912964485513216')
    """
    digits = (_widened(limbs, limbs.shape[1] + 3) & _MASK).astype(np.uint64)
    product = np.zeros(digits.shape, np.int64)
    for place, factor in enumerate((weights & _MASK, weights >> _BITS)):
        if not place or factor.any():
            _add_products(product[:, place:], digits, factor.astype(np.uint64)[:, None])
    product = normalise(product)
    # In two's complement the product of all digits has its sign in the last.
    product[:, -1] = _signed(product[:, -1] & _MASK)
    return _trimmed(product)


def _add_products(into: IntArray, digits: Array, factor: Array) -> None:
    products = digits[:, : into.shape[1]] * factor
    into += (products & np.uint64(_MASK)).astype(np.int64)
    into[:, 1:] += (products[:, :-1] >> np.uint64(_BITS)).astype(np.int64)


def _signed(digits: IntArray) -> IntArray:
    signed: IntArray = digits - ((digits & _SIGN) << 1)
    return signed


def _trimmed(limbs: IntArray) -> IntArray:
    """Without upper limbs that do no more than repeat a sign."""
    while limbs.shape[1] > 2 and np.array_equal(limbs[:, -1], -(limbs[:, -2] >> (_BITS - 1))):
        limbs = limbs[:, :-1].copy()
        limbs[:, -1] = _signed(limbs[:, -1])
    return limbs


def as_limbs(parts: Sequence[IntArray]) -> list[IntArray]:
    """Integers or limbs, all as limbs of one number."""
    limbs = [part if part.ndim == 2 else split_int64(part) for part in parts]
    width = max(part.shape[1] for part in limbs)
    return [part if part.shape[1] == width else _widened(part, width) for part in limbs]


def to_integers(limbs: IntArray) -> Array:
    """Integers of 64 bits if all rows fit, else Python's own, which have no end."""
    values, overflow = to_int64(limbs)
    if not overflow.any():
        return values
    wide = [sum(limb << _BITS * n for n, limb in enumerate(row)) for row in limbs.tolist()]
    return np.array(wide, dtype=object)


def to_int64(limbs: IntArray) -> tuple[IntArray, BoolArray]:
    """Values and a mask of those that do not fit 64 bits (value 0 there)."""
    limbs = _widened(limbs, 3)
    low, high = limbs[..., 0], limbs[..., 1]
    # It fits iff every limb above the second repeats the second one's sign bit.
    sign = -(high >> (_BITS - 1))
    overflow: BoolArray = limbs[..., -1] != sign
    overflow |= np.any(limbs[..., 2:-1] != (sign & _MASK)[..., None], axis=-1)
    return np.where(overflow, 0, high << _BITS | low), overflow


def to_decimal(limbs: IntArray, precision: int, scale: int) -> pa.Decimal128Array:
    """Decimals of rows shaped (n, limbs); NULL where the value needs more than `precision`."""
    limbs = _widened(limbs, _DECIMAL_LIMBS + 1)
    low = limbs[:, 0].view(np.uint64) | limbs[:, 1].view(np.uint64) << np.uint64(_BITS)
    high = limbs[:, 3] << _BITS | limbs[:, 2]
    fits = np.all(limbs[:, _DECIMAL_LIMBS:-1] == (limbs[:, -1:] & _MASK), axis=1)
    # The sign bit of 128, repeated, must be all that lies above.
    fits &= limbs[:, -1] == -(limbs[:, 3] >> (_BITS - 1))
    fits &= _below(high, low, 10**precision) & ~_below(high, low, 1 - 10**precision)
    words = np.stack([low, high.view(np.uint64)], axis=1).astype("<u8")
    buffers = [pa.py_buffer(np.packbits(fits, bitorder="little")), pa.py_buffer(words)]
    return pa.Array.from_buffers(pa.decimal128(precision, scale), len(words), buffers)


def to_float(limbs: IntArray) -> Array:
    """The nearest double or its neighbour: within one unit in the last place."""
    limbs = _widened(limbs, 2)
    negative = limbs[..., -1] < 0
    # Added as magnitudes, from small to large: there is no cancellation, and the roundings of
    # the lower limbs add up to less than half a unit of the last addition.
    size = normalise(np.where(negative[..., None], -limbs, limbs))
    total = np.zeros(size.shape[:-1])
    for i in range(size.shape[-1]):
        total += np.ldexp(size[..., i].astype(np.float64), _BITS * i)
    return np.where(negative, -total, total)


def _widened(limbs: IntArray, least: int) -> IntArray:
    """Normalised, with room on top: at least `least` limbs, and one more than were given."""
    spare = max(1, least - limbs.shape[-1])
    limbs = np.concatenate([limbs, np.zeros((*limbs.shape[:-1], spare), np.int64)], axis=-1)
    return normalise(limbs)


def _below(high: IntArray, low: Array, bound: int) -> BoolArray:
    """True if each 128-bit value (signed high, unsigned low half) is below the bound."""
    bound_high, bound_low = bound >> 64, np.uint64(bound & (2**64 - 1))
    result: BoolArray = (high < bound_high) | ((high == bound_high) & (low < bound_low))
    return result
