"""The catalog: streams, tables, sinks, aggregates and queries, as values kept in SQLite."""

from tidemill.catalog.aggregates import Code, code_of
from tidemill.catalog.catalog import Catalog
from tidemill.catalog.definitions import Sink, Stream, Table, sink_of, stream_of, table_of
from tidemill.catalog.store import HOME_FORMAT, CatalogStore

__all__ = [
    "HOME_FORMAT",
    "Catalog",
    "CatalogStore",
    "Code",
    "Sink",
    "Stream",
    "Table",
    "code_of",
    "sink_of",
    "stream_of",
    "table_of",
]
