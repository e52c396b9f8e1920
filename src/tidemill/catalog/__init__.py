"""What exists: streams, sinks and queries, as frozen values kept in SQLite."""

from tidemill.catalog.catalog import Catalog
from tidemill.catalog.store import CatalogStore
from tidemill.catalog.streams import Sink, Stream, sink_of, stream_of

__all__ = ["Catalog", "CatalogStore", "Sink", "Stream", "sink_of", "stream_of"]
