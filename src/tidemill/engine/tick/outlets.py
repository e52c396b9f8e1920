"""The writers of the standing queries' sinks."""

from __future__ import annotations

import sqlite3

from tidemill.answer.rows import answer_schema
from tidemill.catalog import Catalog, Sink
from tidemill.catalog.addresses import Address
from tidemill.catalog.handed import answering_query
from tidemill.connect.handovers import HandoverLedger
from tidemill.connect.sinks import Printer, SinkTools, SinkWriter, distinct_writers, open_sink
from tidemill.connect.sinks.handover import HandoverSink
from tidemill.engine.home import Home
from tidemill.language.names import Name
from tidemill.share import SharedPlan

Writers = dict[str, SinkWriter]  # by query


class Outlets:
    """One writer per sink, shared by the queries that write to it; queries without INTO
    write to `default`."""

    def __init__(self, home: Home, default: str, printer: Printer) -> None:
        self._home, self._printer = home, printer
        self._default = Sink("default", Address(default, ""))
        self._opened: dict[Sink, SinkWriter] = {}
        self._handing: Writers = {}
        self._standing: Writers = {}

    def standing(self, catalog: Catalog) -> Writers:
        """The writers in use; opened when first needed after a start."""
        if not self._standing:
            self._standing = self.of(catalog)
        return self._standing

    def stand(self, writers: Writers) -> None:
        self._standing = writers

    def of_query(self, query: str, catalog: Catalog) -> SinkWriter:
        if query not in self._standing:
            self._standing = self.of(catalog)
        return self._standing[query]

    def of(self, catalog: Catalog) -> Writers:
        """The writers for a catalog's queries; a sink that is open stays open."""
        writers = {}
        for name in {query.into for query in catalog.queries()}:
            sink = self._sink(name, catalog)
            writers[name] = self._opened.get(sink) or self._open(sink, self._home.open(), catalog)
            self._opened[sink] = writers[name]
        into = {query.name: writers[query.into] for query in catalog.queries()}
        return {**into, **self._handovers(catalog)}

    def _handovers(self, catalog: Catalog) -> Writers:
        """The writers of queries behind streams of answers, each with one of its own."""
        self._handing = {
            query: self._handing.get(query) or self._handover_to(Name(stream.name))
            for stream in catalog.answered
            for query in (answering_query(stream).name,)
        }
        return self._handing

    def _handover_to(self, stream: Name) -> SinkWriter:
        ledger = HandoverLedger(self._home.open(), self._home.handovers)
        return HandoverSink(stream, ledger, self._home.staging)

    def check(self, catalog: Catalog, plan: SharedPlan, standing: set[str]) -> None:
        """Refuse places that are taken, before a new home is made for the answers."""
        home = self._home
        connection = home.open() if home.exists else sqlite3.connect(":memory:")
        for query in plan.every_query:
            if query.name not in standing:
                writer = self._open(self._sink(query.sink, catalog), connection, catalog)
                writer.check(query.name)

    def settle_changed(self, catalog: Catalog, before: SharedPlan, after: SharedPlan) -> None:
        """Staged answers of a replaced query are delivered as its own, under its old columns."""
        for query in before.every_query:
            if not after.stands(query):
                writer = self.standing(catalog)[query.name]
                writer.recover()
                writer.settle(query.name)

    def close(self, plan: SharedPlan) -> None:
        for writer in distinct_writers(self._standing.values()):
            queries = [query for query in plan.every_query if self._standing[query.name] is writer]
            writer.close({query.name: answer_schema(query) for query in queries})

    def _sink(self, name: str | None, catalog: Catalog) -> Sink:
        return self._default if name is None else catalog.sink(name)

    def _open(self, sink: Sink, connection: sqlite3.Connection, catalog: Catalog) -> SinkWriter:
        tools = SinkTools(connection, self._home.staging, catalog.settings, self._printer)
        return open_sink(sink, tools)
