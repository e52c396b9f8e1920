"""What exists: streams, tables, sinks and queries, as frozen values kept in SQLite."""

from tidemill.catalog.catalog import Catalog
from tidemill.catalog.store import CatalogStore
from tidemill.catalog.streams import Sink, Stream, sink_of, stream_of
from tidemill.catalog.tables import Table, table_of

__all__ = [
    "Catalog",
    "CatalogStore",
    "Sink",
    "Stream",
    "Table",
    "sink_of",
    "stream_of",
    "table_of",
]
