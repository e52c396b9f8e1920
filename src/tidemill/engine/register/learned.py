"""Samples of streams in the home's database, so that another run plans by the same figures.

A sample is good for the declaration that the stream had. One that cannot be read is as good as
none: the next plan that needs one takes it again.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from tidemill.arrays import BoolArray, IntArray
from tidemill.engine.register.plan_json import from_plain, to_plain
from tidemill.language.names import Name
from tidemill.share import Sample

# Of what is written below; samples of another form are not read.
_FORM = 1
_TABLE = """
CREATE TABLE IF NOT EXISTS samples (
  stream TEXT, declaration TEXT, form INTEGER, sample BLOB, PRIMARY KEY (stream, declaration))
"""
_CODES = np.dtype("<u4")
# A stream, and the statement that declares it.
Declared = tuple[Name, str]
Samples = Mapping[Declared, Sample]


def load_samples(connection: sqlite3.Connection) -> dict[Declared, Sample]:
    connection.execute(_TABLE)
    rows = connection.execute(
        "SELECT stream, declaration, sample FROM samples WHERE form = ?", (_FORM,)
    )
    read = {(Name(stream), text): read_sample(blob) for stream, text, blob in rows}
    return {declared: sample for declared, sample in read.items() if sample is not None}


def keep_samples(connection: sqlite3.Connection, samples: Samples) -> None:
    """These and no others; what is there has been written as it was taken."""
    connection.execute(_TABLE)
    rows = connection.execute("SELECT stream, declaration FROM samples WHERE form = ?", (_FORM,))
    present = {(Name(stream), text) for stream, text in rows}
    for declared in present - samples.keys():
        connection.execute("DELETE FROM samples WHERE stream = ? AND declaration = ?", declared)
    for declared in samples.keys() - present:
        keep_sample(connection, declared, samples[declared])


def keep_sample(connection: sqlite3.Connection, declared: Declared, sample: Sample) -> None:
    connection.execute(_TABLE)
    connection.execute(
        "INSERT OR REPLACE INTO samples VALUES (?, ?, ?, ?)",
        (*declared, _FORM, write_sample(sample)),
    )


def write_sample(sample: Sample) -> bytes:
    """A line of JSON that names the columns, and below it, compressed, the columns."""
    head = {
        "rate": sample.rows_per_second,
        "size": sample.size,
        "rows_per_tick": sample.rows_per_tick,
        "keys": list(sample.keys),
        "predicates": [to_plain(predicate) for predicate in sample.bits],
    }
    columns = [codes.astype(_CODES).tobytes() for codes in sample.keys.values()]
    columns += [np.packbits(flags).tobytes() for flags in sample.bits.values()]
    return json.dumps(head).encode() + b"\n" + zlib.compress(b"".join(columns))


def read_sample(blob: bytes) -> Sample | None:
    """None if these bytes are no sample."""
    try:
        line, _, body = blob.partition(b"\n")
        return _read(json.loads(line), zlib.decompress(body))
    except (ValueError, LookupError, TypeError, AttributeError, zlib.error):
        return None


def _read(head: dict[str, Any], body: bytes) -> Sample:
    size, width = head["size"], -(-head["size"] // 8)
    flags_at = len(head["keys"]) * size * _CODES.itemsize
    if len(body) != flags_at + len(head["predicates"]) * width:
        raise ValueError("columns of another length")
    codes = np.frombuffer(body[:flags_at], _CODES).reshape(-1, size).astype(np.int64)
    packed = np.frombuffer(body[flags_at:], np.uint8).reshape(-1, width)
    flags = np.unpackbits(packed, axis=1, count=size).astype(np.bool_)
    keys: dict[str, IntArray] = dict(zip(head["keys"], codes, strict=True))
    bits: dict[Any, BoolArray] = dict(zip(map(from_plain, head["predicates"]), flags, strict=True))
    return Sample(head["rate"], size, keys, bits, head.get("rows_per_tick"))
