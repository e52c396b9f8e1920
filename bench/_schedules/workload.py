"""Queries and requests as the papers draw them; an update comes every second."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from tidemill.schedule.soft import Soft

GROUPS = 8
WINDOW_UPDATES = (20, 100)
REQUESTS_PER_SECOND = 1.0


@dataclass(frozen=True)
class OneTime:
    """Something asked once, at a time in seconds, of one group."""

    query: Soft
    at_s: float


@dataclass(frozen=True)
class Workload:
    """Queries, what is asked in between, and how many updates the window of each has."""

    queries: tuple[Soft, ...]
    one_time: tuple[OneTime, ...]
    windows: Mapping[str, int]


def draw(queries: int, seconds: int, seed: int) -> Workload:
    """The same seed with more queries begins with the same ones."""
    rng = random.Random(f"queries {seed}")
    windows: dict[str, int] = {}
    periodic = []
    for number in range(queries):
        name, updates = f"q{number}", rng.randint(*WINDOW_UPDATES)
        windows[name] = updates
        periodic.append(Soft(name, f"g{number % GROUPS}", rng.randint(1, updates // 2)))
    asked = tuple(_asked(random.Random(f"requests {seed}"), seconds))
    windows |= {one.query.name: length for one, length in asked}
    return Workload(tuple(periodic), tuple(one for one, _ in asked), windows)


def _asked(rng: random.Random, seconds: int) -> list[tuple[OneTime, int]]:
    found: list[tuple[OneTime, int]] = []
    at_s = rng.expovariate(REQUESTS_PER_SECOND)
    while at_s < seconds:
        group = f"g{rng.randrange(GROUPS)}"
        query = Soft(f"one-time {len(found)}", group, 1)
        found.append((OneTime(query, at_s), rng.randint(*WINDOW_UPDATES)))
        at_s += rng.expovariate(REQUESTS_PER_SECOND)
    return found
