"""Names of things, short stable fingerprints, and hashes that are worked out once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

C = TypeVar("C", bound=type)
_HASH = "_hash"


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


def hash_once(cls: C) -> C:
    """A frozen class whose values keep their hash, for those that are looked up again and again.

    It stays in the process: texts have another hash in the next.
    """
    hash_parts = cast(Callable[[Any], int], cls.__hash__)

    def kept_hash(value: Any) -> int:
        attributes: dict[str, Any] = value.__dict__
        if _HASH not in attributes:
            attributes[_HASH] = hash_parts(value)
        return int(attributes[_HASH])

    setattr(cls, "__hash__", kept_hash)  # noqa: B010
    setattr(cls, "__getstate__", _without_hash)  # noqa: B010
    return cls


def _without_hash(value: Any) -> dict[str, Any]:
    return {name: part for name, part in value.__dict__.items() if name != _HASH}
