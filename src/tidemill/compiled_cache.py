"""A cache of compiled loops that several processes may fill at the same time.

Numba numbers its data files by the index it has read. Two processes that compile one loop for
different types at the same time choose the same number, and one of them is later given the
machine code of the other. Here a file is named by what it is for, and written before the index
names it; an index that loses an entry to another process costs one more compilation, no more.
"""

from __future__ import annotations

import hashlib
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile


class _DataByKey(IndexDataCacheFile):
    def save(self, key: Any, data: Any) -> None:
        digest = hashlib.sha256(repr((self._source_stamp, key)).encode()).digest()
        name = self._data_name(int.from_bytes(digest[:8], "big"))
        self._save_data(name, data)
        self._save_index({**self._load_index(), key: name})


class LoopCache(FunctionCache):
    """Raises RuntimeError where no folder can be written."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        # A name of its own: what Numba itself has kept may be the code of other types.
        name, stamp = self._impl.filename_base, self._impl.locator.get_source_stamp()
        self._cache_file = _DataByKey(self._cache_path, f"{name}.keyed", stamp)
