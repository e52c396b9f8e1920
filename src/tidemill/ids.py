"""Names of things and short stable fingerprints."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def fingerprint(parts: Iterable[object], length: int = 12) -> str:
    """A short stable id of what is equal; the same in every process and run.

    >>> fingerprint(["packets", None]) == fingerprint(["packets", None])
    True
    """
    digest = hashlib.sha256()
    for part in parts:
        digest.update(repr(part).encode())
        digest.update(b"\x00")
    return digest.hexdigest()[:length]
