"""Generated packets as files: the generator without a stream around it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.connect.packets.model import with_microseconds
from tidemill.connect.packets.packets import PacketModel, block_count, make_block, rows_in_block
from tidemill.errors import refuse


def write_packets(
    folder: Path,
    rows: int,
    rows_per_file: int,
    options: dict[str, str],
    progress: Callable[[int], None],
) -> int:
    """How many rows it wrote: whole blocks per file, in order of arrival, on every core."""
    if folder.exists() and any(folder.iterdir()):
        refuse("E_FOLDER", f"{folder} is not empty", hint="name a new folder")
    model = PacketModel.from_options({**with_microseconds(options), "rows": str(rows)})
    folder.mkdir(parents=True, exist_ok=True)
    spans = list(_spans(model, rows_per_file))
    written = 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for count in pool.map(_write, repeat(folder), repeat(model), range(len(spans)), spans):
            written += count
            progress(written)
    _date(folder, len(spans))
    return written


def _spans(model: PacketModel, rows_per_file: int) -> Iterator[tuple[int, int]]:
    last = block_count(model) or 0
    low, count = 0, 0
    for block in range(last):
        count += rows_in_block(model, block)
        if count >= rows_per_file:
            yield low, block + 1
            low, count = block + 1, 0
    if low < last:
        yield low, last


def _name(number: int) -> str:
    return f"part-{number:05d}.parquet"


def _date(folder: Path, files: int) -> None:
    """A stream takes files by age; the workers finished theirs in any order."""
    last_ns = time.time_ns()
    for number in range(files):
        stamp_ns = last_ns - (files - number) * 1_000_000
        os.utime(folder / _name(number), ns=(stamp_ns, stamp_ns))


def _write(folder: Path, model: PacketModel, number: int, span: tuple[int, int]) -> int:
    packets = pa.Table.from_batches([make_block(model, block) for block in range(*span)])
    # Hidden until whole: somebody may be reading the folder as a stream.
    hidden = folder / f"_{_name(number)}"
    pq.write_table(packets, hidden)
    hidden.rename(folder / _name(number))
    return len(packets)
