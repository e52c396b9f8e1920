"""A run whose queries come, go, pause and change between ticks, by a timetable.

The timetable depends on nothing but a seed, and every event is noted in a file once it has
taken effect; so a run that was killed can be gone on with by another process.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tests.stories.oracle import Case, shared_cases
from tests.stories.streams import (
    COLUMNS,
    LATENESS_US,
    SECOND_US,
    Row,
    cut,
    ordered_times,
    random_row,
)
from tidemill.engine import Engine, RunReport
from tidemill.engine.tick.report import TickReport

FILES, ROWS_A_FILE = 11, 24
# What Spark finishes takes a job for each query and tick, so most queries are plain.
ODD_SHARE = 0.3
FIRST, ADDED, DROPPED, PAUSED, ALTERED = 30, 170, 100, 12, 12
SCRIPT = f"""
SET tick_files = 1;
CREATE SINK out TO 'parquet:out';
CREATE STREAM s ({COLUMNS}) ORDER BY ts SOURCE 'parquet:in'
  WITH (lateness = '{LATENESS_US // 1000} ms');
"""


@dataclass(frozen=True)
class Event:
    """What happened to a query, after which tick, and where time was then."""

    kind: str  # add, drop, pause, resume, alter
    query: str
    tick: int
    watermark_us: int | None = None
    reply: str = ""


def rows_of(seed: int) -> list[list[Row]]:
    """The stream file by file; some rows come too late."""
    rng = random.Random(seed)
    times = ordered_times(rng, FILES * ROWS_A_FILE)
    times.sort(key=lambda t: t + rng.randrange(20 * SECOND_US))
    return cut([random_row(rng, t) for t in times], FILES)


def cases_of(seed: int) -> dict[str, Case]:
    """The queries by name; those that an ALTER makes of them are called after them, primed."""
    drawn = shared_cases(random.Random(seed), "s", FIRST + ADDED, ODD_SHARE)
    cases = {case.name: case for case in drawn}
    for name in altered(cases):
        case = cases[name]
        # Of another length, so that the answers before and after can be told apart.
        cases[f"{name}'"] = replace(case, range_ms=case.range_ms + case.slide_ms, other_ms=None)
    return cases


def altered(cases: dict[str, Case]) -> list[str]:
    return [name for name, case in cases.items() if case.other_ms is None][:ALTERED]


def timetable(seed: int) -> list[list[Event]]:
    """Events by tick after which they happen; the first are before any tick."""
    rng = random.Random(seed)
    cases = cases_of(seed)
    names = [name for name in cases if not name.endswith("'")]
    changing = altered(cases)
    last = FILES - 1
    born = {name: 0 if n < FIRST else rng.randint(1, last - 1) for n, name in enumerate(names)}
    events = [Event("add", name, tick) for name, tick in born.items()]
    others = [name for name in names if name not in changing]
    chosen = rng.sample(others, DROPPED + PAUSED)
    events += [Event("drop", name, rng.randint(born[name] + 1, last)) for name in chosen[:DROPPED]]
    for name in chosen[DROPPED:]:
        begin = rng.randint(born[name] + 1, last)
        events.append(Event("pause", name, begin))
        events.append(Event("resume", name, rng.randint(begin, last) + 1))
    events += [Event("alter", name, rng.randint(born[name] + 1, last)) for name in changing]
    table: list[list[Event]] = [[] for _ in range(FILES + 1)]
    for event in events:
        table[min(event.tick, FILES)].append(event)
    return table


class Live:
    """The engine's side: after each tick, what the timetable has for it."""

    def __init__(self, engine: Engine, folder: Path, seed: int) -> None:
        self.engine, self.folder = engine, folder
        self.cases, self.table = cases_of(seed), timetable(seed)

    def begin(self) -> None:
        self.engine.sql(SCRIPT, self.folder)
        self._carry_out(0, None)

    def run(self) -> RunReport:
        return self.engine.run("flush", self._listen)

    def _listen(self, tick: TickReport) -> None:
        if tick.tick <= FILES:
            self._carry_out(tick.tick, tick.watermark_us)

    def _carry_out(self, tick: int, watermark_us: int | None) -> None:
        """All events of a tick in one script, as one change of the plan."""
        events = self.table[tick]
        text = "\n".join(self._statement(event) for event in events)
        replies = self.engine.sql(text, self.folder) if events else []
        told = {reply.split()[1].rstrip(":"): reply for reply in replies}
        with (self.folder / "events.json").open("a") as log:
            for event in events:
                noted = replace(event, watermark_us=watermark_us, reply=told.get(event.query, ""))
                log.write(json.dumps(asdict(noted)) + "\n")

    def _statement(self, event: Event) -> str:
        if event.kind == "add":
            return self.cases[event.query].create("out")
        if event.kind == "alter":
            text = self.cases[f"{event.query}'"].create("out")
            return text.replace(
                f"CREATE QUERY {event.query} INTO out", f"ALTER QUERY {event.query}"
            )
        return f"{event.kind.upper()} QUERY {event.query};"


def noted_events(folder: Path) -> Iterator[Event]:
    for line in (folder / "events.json").read_text().splitlines():
        yield Event(**json.loads(line))


def main() -> None:
    """Begin a run in a process of its own, where a failpoint may end it."""
    folder, seed = Path(sys.argv[1]), int(sys.argv[2])
    with Engine(folder / "home", master="local[2]") as engine:
        live = Live(engine, folder, seed)
        live.begin()
        live.run()


if __name__ == "__main__":
    main()
