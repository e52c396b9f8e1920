"""The number of buckets of a synopsis: settled when it first runs, and never changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from tidemill.plan.relation import source_name
from tidemill.state.synopsis import Synopsis

# Of tasks for each core, so that large and small ones even out.
_TASKS_PER_CORE = 2


class Facts(Protocol):
    def fixed(self, name: str, value: int) -> int:
        """A number settled once; later values are ignored."""


def settle_buckets(
    facts: Facts, synopses: Sequence[Synopsis], setting: int, cores: int
) -> dict[str, int]:
    """The number of buckets, by synopsis; a setting of 0 leaves it to the machine."""
    streams = Counter(source_name(synopsis.relation) for synopsis in synopses)
    return {
        synopsis.id: facts.fixed(
            f"buckets of {synopsis.id}",
            setting or _fitting_buckets(synopsis, streams[source_name(synopsis.relation)], cores),
        )
        for synopsis in synopses
    }


def _fitting_buckets(synopsis: Synopsis, beside: int, cores: int) -> int:
    """Enough that there is work for every core, and no more.

    A question is asked once of each bucket, and what buckets choose has to be put together; with
    many synopses the cores have work without that.
    """
    if not synopsis.keys:
        return 1
    return min(cores, -(-_TASKS_PER_CORE * cores // beside))
