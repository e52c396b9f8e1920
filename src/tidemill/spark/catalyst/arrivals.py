"""Arrivals in Catalyst: the rows of a tick, each with the arrival that it came with.

Where the bounds of all arrivals are known, a row has its own beside it. Where they are not, it has
the number of its arrival, which is then one of the keys by which rows are grouped, for `judging`.
"""

from __future__ import annotations

import unicodedata
import zlib
from itertools import count
from typing import TYPE_CHECKING
from urllib.parse import quote

from tidemill.connect.sources.contract import ArrowBlocks, Files, InputRows
from tidemill.scan.contract import Admission
from tidemill.spark.catalyst.admission import ARRIVAL, SINCE
from tidemill.spark.catalyst.constants import Jvm
from tidemill.spark.readers import frame_of, read_blocks, read_files
from tidemill.types import BIGINT

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# Spark writes the name of a file with one slash in front or with three.
_FORMS = ("file:", "file://")
# Letters that stand for themselves in the name of a file as Spark writes it.
_PLAIN = "/-_.!~*'():@&=+$,;"


def read_admitted(session: SparkSession, reading: InputRows, admission: Admission) -> DataFrame:
    """The rows of the arrivals that are admitted, with what is needed to judge them."""
    reading = reading.only(admission.arrivals) if admission.arrivals else reading
    if not (admission.judges_later or admission.judges_apart):
        return frame_of(session, reading)
    rows, place, order = _placed(session, reading)
    name, values = ARRIVAL, list(range(len(admission.arrivals)))
    if admission.judges_apart:
        bounds, since_us = admission.terms.bounds, admission.terms.since_us
        # An arrival without rows has no bound.
        name, values = SINCE, [bounds.get(each, since_us) for each in admission.arrivals]
    table = Jvm(session).table([values[number] for number in order])
    return rows.withColumn(name, table[place])


def _placed(session: SparkSession, reading: InputRows) -> tuple[DataFrame, Column, list[int]]:
    """The rows, a column with a place for each, and the number of the arrival in each place."""
    from pyspark.sql import functions as F

    if isinstance(reading, ArrowBlocks):
        place = F.col(ARRIVAL)
        return read_blocks(session, reading, ARRIVAL), place, list(range(len(reading.numbers)))
    salt, numbers = _numbers_by_sum(reading)
    path = F.concat(F.lit(salt), F.col("_metadata.file_path"))
    place = Jvm(session).search(BIGINT, sorted(numbers), F.crc32(path))
    return read_files(session, reading), place, [numbers[key] for key in sorted(numbers)]


def _numbers_by_sum(files: Files) -> tuple[str, dict[int, int]]:
    """The number of each file by the check sum of its name, after a salt that keeps all apart."""
    names = [(form + _encoded(path), n) for n, path in enumerate(files.paths) for form in _FORMS]
    for salt in map(str, count()):
        numbers = {zlib.crc32((salt + name).encode()): number for name, number in names}
        if len(numbers) == len(names):
            return salt, numbers
    raise AssertionError("there is always another salt")


def _encoded(path: str) -> str:
    """As Java writes the path of a URI: letters of all scripts stay, and spaces do not.

    >>> _encoded("/ä b/50%.json")
    '/ä%20b/50%25.json'
    """
    return "".join(
        letter
        if ord(letter) > 127 and unicodedata.category(letter) not in ("Cc", "Zs", "Zl", "Zp")
        else quote(letter, safe=_PLAIN)
        for letter in path
    )
