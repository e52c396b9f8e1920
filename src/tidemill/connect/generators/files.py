"""Generated rows as files: generators without streams around them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.connect.generators.contract import Generator
from tidemill.connect.generators.register import FAMILIES
from tidemill.errors import refuse


def write_generated(
    name: str,
    folder: Path,
    rows: int,
    rows_per_file: int,
    options: Mapping[str, str],
    progress: Callable[[int], None],
) -> int:
    """How many rows it wrote: whole blocks per file, in order of arrival, on every core.

    Of several tables each has a folder of its name, and files of one number hold the same blocks.
    """
    if folder.exists() and any(folder.iterdir()):
        refuse("E_FOLDER", f"{folder} is not empty", hint="name a new folder")
    family = FAMILIES[name]
    bounded = {**options, family.rows_option: str(rows)}
    places = {folder / table: family.make(table, bounded) for table in family.tables}
    for place in places:
        place.mkdir(parents=True, exist_ok=True)
    spans = list(_spans(list(places.values()), rows_per_file))
    written = _write_spans(places, spans, progress)
    for place in places:
        _date(place, len(spans))
    return written


def _write_spans(
    places: dict[Path, Generator], spans: Sequence[range], progress: Callable[[int], None]
) -> int:
    written = 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for count in pool.map(_write, repeat(places), range(len(spans)), spans):
            written += count
            progress(written)
    return written


def _spans(generators: Sequence[Generator], rows_per_file: int) -> Iterator[range]:
    last = max(generator.block_count() or 0 for generator in generators)
    low, count = 0, 0
    for block in range(last):
        count += sum(generator.rows_in_block(block) for generator in generators)
        if count >= rows_per_file:
            yield range(low, block + 1)
            low, count = block + 1, 0
    if low < last:
        yield range(low, last)


def _name(number: int) -> str:
    return f"part-{number:05d}.parquet"


def _date(folder: Path, files: int) -> None:
    """A stream takes files by age; the workers finished theirs in any order."""
    last_ns = time.time_ns()
    for number in range(files):
        stamp_ns = last_ns - (files - number) * 1_000_000
        os.utime(folder / _name(number), ns=(stamp_ns, stamp_ns))


def _write(places: dict[Path, Generator], number: int, blocks: range) -> int:
    return sum(_write_one(place, table, number, blocks) for place, table in places.items())


def _write_one(folder: Path, generator: Generator, number: int, blocks: range) -> int:
    names = generator.schema.names
    rows = pa.Table.from_batches([generator.make_block(block, names) for block in blocks])
    # Hidden until whole: somebody may be reading the folder as a stream.
    hidden = folder / f"_{_name(number)}"
    pq.write_table(rows, hidden)
    hidden.rename(folder / _name(number))
    return len(rows)
