"""A stream of network packets made from a seed, any second of it without the seconds before.

The same model gives the same rows on any machine with the same NumPy (whose generators may
change between releases). A stream that is cut by `duration_us` or `rows` is the beginning of the
one that is not; `disorder_us` only moves rows to later places in the stream.

>>> model = PacketModel(rate=100, rows=1_000)
>>> sum(rows_in_block(model, block) for block in range(block_count(model)))
1000
>>> make_block(model, 3).schema.names
['ts', 'src', 'dst', 'proto', 'port', 'length', 'flags']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
import pyarrow as pa

from tidemill.arrays import Array, FloatArray
from tidemill.connect.generators.contract import BLOCK_US
from tidemill.connect.packets.model import PacketModel
from tidemill.connect.packets.times import (
    CONTENT,
    Ints,
    arrival_times,
    arrived_before,
    blocks_by_duration,
    blocks_by_rows,
    drawn_count,
    event_times,
    lookback,
    random_for,
)
from tidemill.types import BIGINT, INT, STRING, TIMESTAMP

__all__ = ["BLOCK_US", "SCHEMA", "PacketModel", "block_count", "make_block", "rows_in_block"]

SCHEMA = pa.schema(
    [
        ("ts", TIMESTAMP.arrow),
        ("src", STRING.arrow),
        ("dst", STRING.arrow),
        ("proto", STRING.arrow),
        ("port", INT.arrow),
        ("length", BIGINT.arrow),
        ("flags", INT.arrow),
    ]
)
PROTOCOLS = ("TCP", "UDP", "ICMP")
# Most used first: the place in the list is the Zipf rank.
PORTS = (443, 80, 53, 22, 123, 8080, 25, 993, 445, 3389, 587, 143, 21, 110, 5432, 3306, 161, 23)
PORT_ZIPF = 1.2
# ACK, PSH+ACK, SYN, SYN+ACK, FIN+ACK, RST
FLAGS = (16, 24, 2, 18, 17, 4)

_PROTOCOL_STEPS = np.cumsum((0.80, 0.17, 0.03))
_FLAG_STEPS = np.cumsum((0.55, 0.25, 0.07, 0.06, 0.06, 0.01))
# Bare acknowledgements of 40 to 100 bytes, a thin middle, full frames of 1400 to 1500.
_LENGTH_STEPS, _LENGTH_BOUNDS = (0.0, 0.45, 0.60, 1.0), (40, 101, 1400, 1501)


def block_count(model: PacketModel) -> int | None:
    """The number of arrival blocks in the stream; None if it does not end."""
    if model.rows is None:
        return blocks_by_duration(model)
    return blocks_by_rows(model, model.rows)


def rows_in_block(model: PacketModel, block: int) -> int:
    """The number of rows that `make_block` gives, without making them."""
    before, after = arrived_before(model, block), arrived_before(model, block + 1)
    return _cut(model, after) - _cut(model, before)


def make_block(model: PacketModel, block: int) -> pa.RecordBatch:
    """The rows that arrive in a block, in order of arrival; none past the end of the stream."""
    if block < 0:
        raise ValueError(f"blocks count from 0, not {block}")
    codes = _arrivals(model, block) if model.disorder_us else _event_codes(model, block)
    if model.rows is not None:
        codes = codes.take(slice(0, rows_in_block(model, block)))
    return _decode(model, codes)


def _cut(model: PacketModel, count: int) -> int:
    return count if model.rows is None else min(count, model.rows)


@dataclass(frozen=True)
class _Codes:
    """Rows as small numbers; text is made only for rows that are put out."""

    ts: Ints
    src: Ints
    dst: Ints
    proto: Ints
    port: Ints
    length: Ints
    flags: Ints

    def take(self, which: slice | Array) -> _Codes:
        return _Codes(*(getattr(self, field.name)[which] for field in fields(self)))


def _arrivals(model: PacketModel, block: int) -> _Codes:
    start_us = model.start_us + block * BLOCK_US
    parts, times = [], []
    for event_block in range(max(0, block - lookback(model)), block + 1):
        arrival_us = arrival_times(model, event_block)
        here = (arrival_us >= start_us) & (arrival_us < start_us + BLOCK_US)
        parts.append(_kept_codes(model, event_block).take(here))
        times.append(arrival_us[here])
    order = np.argsort(np.concatenate(times), kind="stable")
    return _concatenate(parts).take(order)


def _concatenate(parts: Sequence[_Codes]) -> _Codes:
    columns = (field.name for field in fields(_Codes))
    return _Codes(*(np.concatenate([getattr(part, name) for part in parts]) for name in columns))


@lru_cache(maxsize=16)
def _kept_codes(model: PacketModel, block: int) -> _Codes:
    """As `_event_codes`; under disorder the next arrival blocks want the same rows again."""
    return _event_codes(model, block)


def _event_codes(model: PacketModel, block: int) -> _Codes:
    """The rows that happen in a block; content is drawn before the cut at the stream's end."""
    times_us = event_times(model, block)
    random = random_for(model, CONTENT, block)
    draws = (random.random(drawn_count(model, block))[: len(times_us)] for _ in fields(_Codes)[1:])
    return _Codes(times_us, *_content(model, *draws))


def _content(
    model: PacketModel,
    src: FloatArray,
    dst: FloatArray,
    proto: FloatArray,
    port: FloatArray,
    length: FloatArray,
    flags: FloatArray,
) -> tuple[Ints, ...]:
    hosts = _zipf_steps(model.hosts, model.zipf)
    sources = _pick(hosts, src)
    # Ranked from the other end: the busiest servers are not the busiest clients.
    targets = model.hosts - 1 - _pick(hosts, dst)
    return (
        sources,
        np.where(targets == sources, (targets + 1) % model.hosts, targets),
        _pick(_PROTOCOL_STEPS, proto),
        _pick(_zipf_steps(len(PORTS), PORT_ZIPF), port),
        np.interp(length, _LENGTH_STEPS, _LENGTH_BOUNDS).astype(np.int64),
        _pick(_FLAG_STEPS, flags),
    )


def _pick(steps: FloatArray, draws: FloatArray) -> Ints:
    """The step each draw in [0, 1) falls on; the last takes what rounding leaves over."""
    return np.searchsorted(steps[:-1], draws, side="right")


@lru_cache(maxsize=16)
def _zipf_steps(count: int, exponent: float) -> FloatArray:
    weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    steps: FloatArray = np.cumsum(weights) / weights.sum()
    return steps


@lru_cache(maxsize=4)
def _host_names(hosts: int) -> pa.Array:
    """Addresses in 10.0.0.0/8, scattered: an odd factor visits each of 2^24 once."""
    numbers = [host * 0x9E3779 & 0xFFFFFF for host in range(1, hosts + 1)]
    return pa.array([f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in numbers])


def _decode(model: PacketModel, codes: _Codes) -> pa.RecordBatch:
    names = _host_names(model.hosts)
    is_tcp, has_port = codes.proto == 0, codes.proto != PROTOCOLS.index("ICMP")
    columns = [
        pa.array(codes.ts).cast(TIMESTAMP.arrow),
        names.take(pa.array(codes.src)),
        names.take(pa.array(codes.dst)),
        pa.array(PROTOCOLS).take(pa.array(codes.proto)),
        pa.array(np.asarray(PORTS, np.int32)[codes.port], mask=~has_port),
        pa.array(codes.length),
        pa.array(np.asarray(FLAGS, np.int32)[codes.flags], mask=~is_tcp),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
