"""Every built-in sink keeps its promise wherever a process ends; a sink that does not is caught."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidemill.answer.request import CARRY
from tidemill.catalog import Sink
from tidemill.catalog.addresses import SINKS, Address
from tidemill.connect.sinks import Batch, SinkTools, SinkWriter, open_sink
from tidemill.connect.sinks.appended import AppendedFile
from tidemill.connect.sinks.check import CheckedSink, Met, check_sink, values_met
from tidemill.connect.sinks.contract import AT_LEAST_ONCE, AT_MOST_ONCE, EXACTLY_ONCE
from tidemill.connect.sinks.json_lines import JsonSink
from tidemill.settings import Settings

# After the first tick, while the second is staged.
ROLLS_SOON = Settings(roll_bytes=1_000)


def made_by(scheme: str) -> Callable[[Path, SinkTools], SinkWriter]:
    def make(folder: Path, tools: SinkTools) -> SinkWriter:
        return open_sink(Sink("out", Address(scheme, str(folder / "out"))), tools)

    return make


def rolled(folder: Path, _: SinkWriter) -> Met:
    files = (folder / "out").glob("query=*/*.parquet")
    return values_met(
        (file.parent.name.removeprefix("query="), pq.ParquetFile(file).read()) for file in files
    )


def in_lines(folder: Path, _: SinkWriter) -> Met:
    path = folder / "out"
    rows = map(json.loads, path.read_text().splitlines() if path.exists() else ())
    return Met((row["query"], row["v"]) for row in rows)


def under_headers(folder: Path, _: SinkWriter) -> Met:
    path = folder / "out"
    header, *lines = path.read_text().splitlines() if path.exists() else ("query,v",)
    assert header == "query,v"
    return Met((query, int(value)) for query, value in csv.reader(lines))


def in_memory(_: Path, writer: SinkWriter) -> Met:
    return values_met((query, rows) for query in "qr" for rows in writer.tables(query) or ())


CASES = {
    "parquet": CheckedSink(made_by("parquet"), rolled, ROLLS_SOON),
    "json": CheckedSink(made_by("json"), in_lines),
    "csv": CheckedSink(made_by("csv"), under_headers),
    "console": CheckedSink(made_by("console")),
    "memory": CheckedSink(made_by("memory"), in_memory),
    "discard": CheckedSink(made_by("discard")),
}


def test_every_sink_of_the_register_is_checked():
    assert set(CASES) == set(SINKS.schemes)


@pytest.mark.parametrize("name", CASES)
def test_a_sink_keeps_its_promise_wherever_a_process_ends(name: str, tmp_path: Path):
    assert check_sink(CASES[name], tmp_path) > 10


class Forgetful(JsonSink):
    """Does not cut its file back."""

    def recover(self) -> None:
        """Leaves the lines of a tick that was not committed."""


class Hasty(JsonSink):
    """Records before the file has its lines."""

    def deliver(self, batch: Batch) -> None:
        self._waiting = [*getattr(self, "_waiting", ()), batch]

    def committed(self, now_us: int) -> None:
        for batch in getattr(self, "_waiting", ()):
            super().deliver(batch)
        self._waiting = []


class Eager(JsonSink):
    promise = AT_MOST_ONCE

    def recover(self) -> None:
        """Leaves the lines of a tick that was not committed."""


class Careless(Hasty):
    promise = AT_LEAST_ONCE


class Trusting(JsonSink):
    def check(self, query: str) -> None:
        """Lets any home write here."""


class Silent(JsonSink):
    def deliver(self, batch: Batch) -> None:
        """Drops everything."""


class Muddled(JsonSink):
    def tables(self, query: str) -> list[pa.Table]:
        return [pa.table({"v": [0]})]


class Inventive(AppendedFile):
    """Repeats the last tick's lines under another query when it recovers."""

    delivery, promise = CARRY, AT_LEAST_ONCE

    def lines(self, query, rows):
        return JsonSink.lines(self, query, rows)  # type: ignore[arg-type]

    def recover(self) -> None:
        if self._path.exists():
            with self._path.open("a") as file:
                file.write('{"query": "other", "v": 1}\n')


@pytest.mark.parametrize(
    ("sink", "reason"),
    [
        (Forgetful, "promised exactly once, and delivered again"),
        (Hasty, "promised exactly once, and lost"),
        (Eager, "promised at most once, and delivered again"),
        (Careless, "promised at least once, and lost"),
        (Trusting, "another home may write to the same place"),
        (Silent, "answers are missing"),
        (Muddled, "what is read back is not what came"),
        (Inventive, "delivered what nobody answered"),
    ],
)
def test_a_sink_that_breaks_its_promise_is_caught(
    sink: type[SinkWriter], reason: str, tmp_path: Path
):
    def make(folder: Path, tools: SinkTools) -> SinkWriter:
        place = Sink("out", Address("json", str(folder / "out")))
        return sink(place, tools)  # type: ignore[call-arg]

    with pytest.raises(AssertionError, match=reason):
        check_sink(CheckedSink(make, in_lines), tmp_path)


def test_the_words_of_a_promise_differ():
    assert len({EXACTLY_ONCE, AT_LEAST_ONCE, AT_MOST_ONCE}) == 3
