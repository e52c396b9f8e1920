"""The tick log: every tick is begun, decided and committed, in that order, in SQLite.

A tick is begun with its record and decided with its decision, both kept as JSON. Commit is one
transaction: time, input taken, pieces, counts and the sinks' ledgers change together or not at
all. An unfinished tick is found on the next start and run again from its record.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, field
from typing import Any

from tidemill.answer.gaps import NO_GAPS, Gaps
from tidemill.connect.sources import Json, Position
from tidemill.engine.corrections.revision_log import REVISION_TABLES, load_revisions, save_revisions
from tidemill.language.names import Name
from tidemill.scan.contract import FoldReport, read_piece, read_report
from tidemill.schedule import NO_REVISIONS, Due, History, Revisions
from tidemill.state.store import Version
from tidemill.time import InputRate, Register


@dataclass(frozen=True)
class TickRecord:
    """Written before a tick touches its input: all that its outcome depends on."""

    stream: str
    number: int
    plan_version: int
    batch_time_us: int  # the stamp of rows that are stamped on arrival
    time: Register  # by which the first arrival of the tick is judged
    # The input as its source stores it, None if nothing is taken or nothing of it can be read;
    # what of it is taken by name; and the place where the source goes on.
    portion: Json = None
    names: tuple[str, ...] = ()
    mark: Json = None
    skipped: Mapping[str, str] = field(default_factory=dict)  # files not readable, and why
    flush: bool = False
    # Soft queries that were being answered beside as it began: they go on after a replay.
    carried: tuple[str, ...] = ()
    # The clock as the tick began; ticks of earlier versions did not note it.
    clock_us: int | None = None
    # A promise that is made with the tick: windows close by it in the tick itself, and rows that
    # are older are late in those after it. And whose word it is.
    promised_us: int | None = None
    word: str = ""
    # When the input arrived, by the clock that promises go by; and whether it did after a look
    # that found none, so that this tells of drift.
    arrived_us: int | None = None
    is_fresh: bool = False
    # The committed registers of the streams whose rows are put together with those of this one.
    others: Mapping[Name, Register] = field(default_factory=dict)
    # Its number among the ticks of those streams, in whose order answers are delivered.
    turn: int = 0

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    def times(self, after: Register | None = None) -> dict[Name, Register]:
        """By stream, how far time had come; of its own after the tick, if that is given."""
        return {**self.others, Name(self.stream): self.time if after is None else after}

    @staticmethod
    def from_json(text: str) -> TickRecord:
        raw = json.loads(text)
        raw["time"] = _register(raw["time"])
        if "taken" in raw:
            raw |= _input_of_before(raw.pop("taken"), raw["skipped"])
        raw.setdefault("turn", raw["number"])
        others = raw.get("others", {})
        raw["others"] = {Name(name): _register(time) for name, time in others.items()}
        raw["carried"], raw["names"] = tuple(raw["carried"]), tuple(raw["names"])
        return TickRecord(**raw)


@dataclass(frozen=True)
class Decision:
    """Written before a tick answers: what was folded, how far time came, what is due."""

    time: Register
    folded: FoldReport = field(default_factory=FoldReport)
    due: tuple[Due, ...] = ()

    def to_json(self) -> str:
        parts = {"time": asdict(self.time), "folded": asdict(self.folded), "due": self.due}
        return json.dumps(parts)

    @staticmethod
    def from_json(text: str) -> Decision:
        raw = json.loads(text)
        return Decision(
            _register(raw["time"]),
            read_report(raw["folded"]),
            tuple(map(_due, raw["due"])),
        )


def _due(raw: list[Any]) -> Due:
    """A run of windows from its JSON; in ticks of earlier versions each was one query's, and none
    had revisions."""
    queries, *windows = raw
    due = Due((queries,) if isinstance(queries, str) else tuple(queries), *windows)
    return due._replace(revisions=tuple(due.revisions))


def _register(raw: dict[str, Any]) -> Register:
    """A register from its JSON; in ticks of earlier versions the promise was the watermark."""
    fields = dict(raw)
    if "watermark_us" in fields:
        fields["promised_us"] = fields.pop("watermark_us")
    return Register(**fields)


def version_to_json(version: Version) -> str:
    """The pieces of a committed version, and since when they are complete, by synopsis."""
    return json.dumps(asdict(version))


def version_from_json(text: str) -> Version:
    raw: dict[str, Any] = json.loads(text)
    pieces = {key: tuple(map(read_piece, found)) for key, found in raw["pieces"].items()}
    return Version(pieces, raw["complete_from"])


def _input_of_before(raw: dict[str, Any], skipped: Mapping[str, str]) -> dict[str, Json]:
    """Inputs of all sources once had the same fields, and an empty one stood for none."""
    is_span = raw["low"] < raw["high"]
    return {
        "portion": raw if raw["files"] or is_span else None,
        "names": (*raw["files"], *skipped),
        "mark": raw["high"] if is_span else None,
    }


_TABLES = """
CREATE TABLE IF NOT EXISTS streams (
  stream TEXT PRIMARY KEY, tick INTEGER, newest_us INTEGER, watermark_us INTEGER, mark TEXT,
  version TEXT, rows_in INTEGER, rows_late INTEGER, rows_malformed INTEGER);
CREATE TABLE IF NOT EXISTS rates (
  stream TEXT PRIMARY KEY, rows_per_second REAL, until_us INTEGER, rows INTEGER);
CREATE TABLE IF NOT EXISTS inputs (stream TEXT, path TEXT, PRIMARY KEY (stream, path))
  WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ticks (
  stream TEXT PRIMARY KEY, record TEXT NOT NULL, decision TEXT);
CREATE TABLE IF NOT EXISTS queries (
  query TEXT PRIMARY KEY, answers INTEGER, raised INTEGER);
CREATE TABLE IF NOT EXISTS troubles (query TEXT PRIMARY KEY, message TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS stops (query TEXT PRIMARY KEY, reason TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS soft (
  query TEXT PRIMARY KEY, runs INTEGER, useful REAL, extra INTEGER, aged INTEGER, first INTEGER,
  last INTEGER, ran_us INTEGER, together INTEGER, first_delivery INTEGER, last_delivery INTEGER);
CREATE TABLE IF NOT EXISTS gaps (query TEXT PRIMARY KEY, has_begun INTEGER, skipped INTEGER);
CREATE TABLE IF NOT EXISTS promises (
  stream TEXT PRIMARY KEY, word TEXT NOT NULL, arrived_us INTEGER, drift_us INTEGER NOT NULL,
  arrivals INTEGER NOT NULL, rows_broken INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS corrections (
  stream TEXT PRIMARY KEY, rows_corrected INTEGER, final_us INTEGER);
"""
_PROMISES = (
    "SELECT word, arrived_us, drift_us, arrivals, rows_broken FROM promises WHERE stream = ?"
)
# What homes of earlier versions lack: the turn of a tick was its number.
_TURNS = """
BEGIN;
ALTER TABLE streams ADD COLUMN turn INTEGER;
UPDATE streams SET turn = tick;
COMMIT;
"""
# Nor did they note deliveries: an answer in them counts as delivered at the update it saw.
_DELIVERIES = """
BEGIN;
ALTER TABLE soft ADD COLUMN first_delivery INTEGER;
ALTER TABLE soft ADD COLUMN last_delivery INTEGER;
UPDATE soft SET first_delivery = first, last_delivery = last;
COMMIT;
"""


@dataclass
class StreamState:
    """The position and totals of a stream after its last committed tick."""

    tick: int = 0
    time: Register = field(default_factory=Register)
    position: Position = field(default_factory=Position)
    version: Version = field(default_factory=Version)
    rows_in: int = 0
    rows_late: int = 0
    rows_malformed: int = 0
    rows_broken: int = 0  # of those that are late or correct
    rate: InputRate = field(default_factory=InputRate)
    rows_corrected: int = 0
    # Windows that end by then are answered for good, though the stream may correct more by now.
    final_us: int | None = None
    turn: int = 0


@dataclass(frozen=True)
class QueryState:
    """The counts of a query so far: answers and values that raised; the first error that a user's
    aggregate raised; the runs of a soft query; the gaps between windows with rows; the revisions of
    windows; why it is to be stopped."""

    answers: int = 0
    raised: int = 0
    user_error: str = ""
    history: History = field(default_factory=History)
    gaps: Gaps = NO_GAPS
    revisions: Revisions = NO_REVISIONS
    stop: str = ""

    @property
    def has_begun(self) -> bool:
        """True if a query that answers windows without rows has met one with rows."""
        return self.gaps.has_begun

    def after(
        self,
        answers: int,
        raised: int,
        user_error: str = "",
        gaps: Gaps | None = None,
        stop: str = "",
    ) -> QueryState:
        return QueryState(
            self.answers + answers,
            self.raised + raised,
            self.user_error or user_error,
            self.history,
            self.gaps if gaps is None else self.gaps + gaps,
            self.revisions,
            self.stop or stop,
        )


class Journal:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.executescript(_TABLES + REVISION_TABLES)
        if "last_delivery" not in self._columns("soft"):
            connection.executescript(_DELIVERIES)
        if "turn" not in self._columns("streams"):
            connection.executescript(_TURNS)

    def _columns(self, table: str) -> set[str]:
        rows = self._connection.execute(f"PRAGMA table_info({table})")
        return {name for _, name, *_ in rows}

    def load(self, stream: str, with_inputs: bool = True) -> StreamState:
        """The state of a stream. The list of inputs may be long, and only ticks need it."""
        key = Name(stream)
        row = self._connection.execute("SELECT * FROM streams WHERE stream = ?", (key,)).fetchone()
        if row is None:
            return StreamState()
        measured = "SELECT rows_per_second, until_us, rows FROM rates WHERE stream = ?"
        rate = self._connection.execute(measured, (key,)).fetchone()
        totals = "SELECT rows_corrected, final_us FROM corrections WHERE stream = ?"
        rows_corrected, final_us = self._connection.execute(totals, (key,)).fetchone() or (0, None)
        promises = self._connection.execute(_PROMISES, (key,)).fetchone()
        *register, rows_broken = promises or ("", None, 0, 0, 0)
        inputs = "SELECT path FROM inputs WHERE stream = ?"
        paths = self._connection.execute(inputs, (key,)) if with_inputs else ()
        return StreamState(
            tick=row[1],
            time=Register(row[2], row[3], *register),
            position=Position(_mark(row[4]), {path for (path,) in paths}),
            version=version_from_json(row[5]),
            rows_in=row[6],
            rows_late=row[7],
            rows_malformed=row[8],
            rows_broken=rows_broken,
            rate=InputRate(*(rate or ())),
            rows_corrected=rows_corrected,
            final_us=final_us,
            turn=row[9],
        )

    def unfinished(self, stream: str) -> tuple[TickRecord, Decision | None] | None:
        row = self._connection.execute(
            "SELECT record, decision FROM ticks WHERE stream = ?", (Name(stream),)
        ).fetchone()
        if row is None:
            return None
        return TickRecord.from_json(row[0]), Decision.from_json(row[1]) if row[1] else None

    def abandon_undecided(self, stream: str) -> None:
        """Forget a tick that had begun and decided nothing: its input has not been taken.

        For a change of plan, which may mend what the tick failed over, and for a stream that rests
        after a failure.
        """
        self._connection.execute(
            "DELETE FROM ticks WHERE stream = ? AND decision IS NULL", (Name(stream),)
        )

    def begin(self, record: TickRecord) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO ticks VALUES (?, ?, NULL)",
            (Name(record.stream), record.to_json()),
        )

    def decide(self, record: TickRecord, decision: Decision) -> None:
        self._connection.execute(
            "UPDATE ticks SET decision = ? WHERE stream = ?",
            (decision.to_json(), Name(record.stream)),
        )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it or nothing."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def commit(
        self,
        record: TickRecord,
        streams: Mapping[Name, StreamState],
        queries: Mapping[str, QueryState],
    ) -> None:
        """Within a transaction, beside the sinks' ledgers: the streams that the tick changed."""
        key = Name(record.stream)
        self._connection.executemany(
            "INSERT OR REPLACE INTO streams VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [_stream_row(name, state) for name, state in streams.items()],
        )
        self._connection.executemany(
            "INSERT OR REPLACE INTO rates VALUES (?, ?, ?, ?)",
            [(name, *astuple(state.rate)) for name, state in streams.items()],
        )
        self._connection.executemany(
            "INSERT OR REPLACE INTO corrections VALUES (?, ?, ?)",
            [(name, state.rows_corrected, state.final_us) for name, state in streams.items()],
        )
        self._connection.executemany(
            "INSERT OR REPLACE INTO promises VALUES (?, ?, ?, ?, ?, ?)",
            [_promise_row(name, state) for name, state in streams.items()],
        )
        self._connection.executemany(
            "INSERT OR IGNORE INTO inputs VALUES (?, ?)",
            [(key, name) for name in record.names],
        )
        self._count(queries)
        self._connection.execute("DELETE FROM ticks WHERE stream = ?", (key,))

    def save_queries(self, queries: Mapping[str, QueryState]) -> None:
        """Their states, whatever there was under their names."""
        self.forget_queries(queries.keys())
        self._count(queries)

    def _count(self, queries: Mapping[str, QueryState]) -> None:
        """States that have gone on: what a query has once, it keeps."""
        self._connection.executemany(
            "INSERT INTO queries VALUES (?, ?, ?) ON CONFLICT (query) DO UPDATE"
            " SET answers = excluded.answers, raised = excluded.raised",
            [(n, q.answers, q.raised) for n, q in queries.items()],
        )
        self._connection.executemany(
            "INSERT OR REPLACE INTO troubles VALUES (?, ?)",
            [(n, q.user_error) for n, q in queries.items() if q.user_error],
        )
        self._connection.executemany(
            "INSERT OR REPLACE INTO stops VALUES (?, ?)",
            [(n, q.stop) for n, q in queries.items() if q.stop],
        )
        self._connection.executemany(
            "INSERT OR REPLACE INTO gaps VALUES (?, ?, ?)",
            [(n, *astuple(q.gaps)) for n, q in queries.items() if q.gaps is not NO_GAPS],
        )
        self._connection.executemany(
            "INSERT OR REPLACE INTO soft VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(n, *astuple(q.history)) for n, q in queries.items() if q.history.runs],
        )
        save_revisions(self._connection, {n: q.revisions for n, q in queries.items()})

    def load_queries(self) -> dict[str, QueryState]:
        rows = self._connection.execute(
            "SELECT query, answers, raised, COALESCE(message, '') FROM queries"
            " LEFT JOIN troubles USING (query)"
        )
        soft = self._connection.execute("SELECT * FROM soft")
        histories = {name: History(*history) for name, *history in soft}
        rows_of_gaps = self._connection.execute("SELECT query, has_begun, skipped FROM gaps")
        gaps = {name: Gaps(bool(begun), skipped) for name, begun, skipped in rows_of_gaps}
        revisions = load_revisions(self._connection)
        stops = dict(self._connection.execute("SELECT query, reason FROM stops"))
        return {
            name: QueryState(
                *(answers, raised, user_error),
                history=histories.get(name, History()),
                gaps=gaps.get(name, NO_GAPS),
                revisions=revisions.get(name, NO_REVISIONS),
                stop=stops.get(name, ""),
            )
            for name, answers, raised, user_error in rows
        }

    def forget_stream(self, stream: Name) -> None:
        """As if none of its ticks had ever been."""
        for table in ("streams", "rates", "promises", "corrections", "inputs", "ticks"):
            self._connection.execute(f"DELETE FROM {table} WHERE stream = ?", (stream,))

    def forget_queries(self, names: Iterable[str]) -> None:
        rows = [(name,) for name in names]
        for table in ("soft", "gaps", "queries", "troubles", "stops", "revising", "revisions"):
            self._connection.executemany(f"DELETE FROM {table} WHERE query = ?", rows)

    def fixed(self, name: str, value: int) -> int:
        """A number settled once for the life of the home; later values are ignored."""
        self._connection.execute("INSERT OR IGNORE INTO facts VALUES (?, ?)", (name, value))
        row = self._connection.execute("SELECT value FROM facts WHERE name = ?", (name,))
        return int(row.fetchone()[0])


def _stream_row(key: Name, state: StreamState) -> tuple[object, ...]:
    time = state.time
    return (
        key,
        state.tick,
        time.newest_us,
        time.promised_us,
        json.dumps(state.position.mark),
        version_to_json(state.version),
        state.rows_in,
        state.rows_late,
        state.rows_malformed,
        state.turn,
    )


def _promise_row(name: Name, state: StreamState) -> tuple[Any, ...]:
    time = state.time
    return name, time.word, time.arrived_us, time.drift_us, time.arrivals, state.rows_broken


def _mark(stored: str | int | None) -> Json:
    """A mark from its JSON; homes of before have a number there, or nothing."""
    return None if stored is None else json.loads(str(stored))
