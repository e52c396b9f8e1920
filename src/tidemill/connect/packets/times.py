"""Times of generated packets, of happening and of arriving: bursts, delays, counts.

The traffic is the sum of ON/OFF sources with Pareto periods, so that its bursts are heavy-tailed
and do not average out. A row belongs to an event block, the second of its event time, and arrives
in the second of its event time plus its delay. Both are found for any block without the blocks
before it, apart from their counts.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tidemill.arrays import FloatArray, IntArray
from tidemill.connect.generators.contract import BLOCK_US
from tidemill.connect.packets.model import EPOCH_BLOCKS, PacketModel

Ints = IntArray

# With the default shape 1.5 a period lasts 3 s in the mean, and the longest fill an epoch.
SHORTEST_PERIOD_US = BLOCK_US
PERIODS, COUNTS, TIMES, DELAYS, CONTENT = range(5)


def random_for(model: PacketModel, purpose: int, *where: int) -> np.random.Generator:
    """Numbers of their own for each purpose and place, so that nothing needs what came before."""
    return np.random.Generator(np.random.SFC64([model.seed, purpose, *where]))


@lru_cache(maxsize=64)
def drawn_counts(model: PacketModel, epoch: int) -> Ints:
    """Rows per event block of an epoch, as if the stream had no end."""
    on_us = np.zeros(EPOCH_BLOCKS)
    for source in range(model.sources):
        on_us += _on_us(model, source, epoch)
    rate_when_on = 2 * model.rate / model.sources / BLOCK_US
    return random_for(model, COUNTS, epoch).poisson(rate_when_on * on_us)


def drawn_count(model: PacketModel, block: int) -> int:
    return int(drawn_counts(model, block // EPOCH_BLOCKS)[block % EPOCH_BLOCKS])


def event_times(model: PacketModel, block: int) -> Ints:
    """Event times of a block in order, uniform in it, cut at the end of the stream."""
    start_us = block * BLOCK_US
    offsets_us = random_for(model, TIMES, block).integers(0, BLOCK_US, drawn_count(model, block))
    offsets_us.sort()
    if model.duration_us is not None:
        offsets_us = offsets_us[: np.searchsorted(offsets_us, model.duration_us - start_us)]
    return offsets_us + (model.start_us + start_us)


# Neighbouring arrival blocks share their event blocks, so a few are worth keeping.
@lru_cache(maxsize=16)
def arrival_times(model: PacketModel, block: int) -> Ints:
    """The arrival of each row of an event block: at most `disorder_us` after it happened."""
    times_us = event_times(model, block)
    delays_us = random_for(model, DELAYS, block).integers(0, model.disorder_us + 1, len(times_us))
    return times_us + delays_us


def lookback(model: PacketModel) -> int:
    """The number of event blocks before its own that an arrival block has rows from."""
    return -(-model.disorder_us // BLOCK_US)


def arrived_before(model: PacketModel, block: int) -> int:
    """Rows that arrive before a block starts: those that happened, less those under way."""
    start_us = model.start_us + block * BLOCK_US
    recent = range(max(0, block - lookback(model)), block)
    under_way = sum(int((arrival_times(model, e) >= start_us).sum()) for e in recent)
    return _events_before(model, block) - under_way


def blocks_by_duration(model: PacketModel) -> int | None:
    if model.duration_us is None:
        return None
    return -(-(model.duration_us + model.disorder_us) // BLOCK_US)


def blocks_by_rows(model: PacketModel, rows: int) -> int:
    """The first block count by which `rows` rows have arrived, or the stream has ended."""
    longest = blocks_by_duration(model)
    block = _block_reaching(model, rows, longest)
    while (longest is None or block < longest) and arrived_before(model, block) < rows:
        block += 1
    return block if longest is None else min(block, longest)


def _on_us(model: PacketModel, source: int, epoch: int) -> FloatArray:
    """The time for which a source is ON in each block of an epoch."""
    random = random_for(model, PERIODS, source, epoch)
    # No period is shorter than a block, so these fill the epoch. ON and OFF have one law and a
    # coin chooses the first, so a source is ON half the time in the mean, whatever the shape.
    periods_us = SHORTEST_PERIOD_US * (1 + random.pareto(model.shape, EPOCH_BLOCKS))
    is_on = (np.arange(EPOCH_BLOCKS) + random.integers(2)) % 2
    edges_us = np.concatenate(([0.0], np.cumsum(periods_us)))
    on_before_us = np.concatenate(([0.0], np.cumsum(periods_us * is_on)))
    bounds_us = np.arange(EPOCH_BLOCKS + 1) * float(BLOCK_US)
    return np.diff(np.interp(bounds_us, edges_us, on_before_us))


@lru_cache(maxsize=1 << 16)
def _drawn_total(model: PacketModel, epoch: int) -> int:
    return int(drawn_counts(model, epoch).sum())


def _drawn_before(model: PacketModel, block: int) -> int:
    epoch, rest = divmod(block, EPOCH_BLOCKS)
    whole = sum(_drawn_total(model, earlier) for earlier in range(epoch))
    return whole + (int(drawn_counts(model, epoch)[:rest].sum()) if rest else 0)


def _events_before(model: PacketModel, block: int) -> int:
    """Rows whose event time lies before a block; the last block of a stream may be a part."""
    if model.duration_us is None or block * BLOCK_US <= model.duration_us:
        return _drawn_before(model, block)
    last, rest_us = divmod(model.duration_us, BLOCK_US)
    return _drawn_before(model, last) + (len(event_times(model, last)) if rest_us else 0)


def _block_reaching(model: PacketModel, rows: int, longest: int | None) -> int:
    """A block count before which fewer than `rows` rows are drawn: where to look from."""
    epoch, before = 0, 0
    while before + _drawn_total(model, epoch) < rows:
        before += _drawn_total(model, epoch)
        epoch += 1
        if longest is not None and epoch * EPOCH_BLOCKS >= longest:
            return longest
    sums = np.cumsum(drawn_counts(model, epoch))
    return epoch * EPOCH_BLOCKS + int(np.searchsorted(sums, rows - before))
