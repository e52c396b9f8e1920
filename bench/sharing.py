"""Many queries over one stream: Tidemill beside a bare scan, Structured Streaming and Flink.

    tidemill bench sharing --json bench/results/sharing.json --plot docs/images/sharing.svg

Sections, each with the same rows (`tidemill bench workload` tells of the queries):

- `one`, `full`, `mixed`: Parquet (or `--format csv`), any windows, Tidemill beside *bare*, which
  is one batch group-by of all rows by second and source: the floor.
- `peers`: the profile `one` over CSV files, which all can read, with windows whose range is a
  multiple of the slide, which Flink demands. Their numbers of answers are compared first.

Seconds are those of a run over all rows with sessions and clusters up: for Tidemill without
registering the queries (told apart), for Flink the net runtime of its job.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from _check import check_answers
from _contenders import (
    Files,
    flink_job,
    flink_peer,
    run_bare,
    run_tidemill,
    spark_job,
    spark_peer,
)
from _harness import Outcome, Timing, command, side_by_side, tell, write_json
from _peers import Peer
from _rows import Shape, make_files
from _targets import print_section, print_targets, targets
from plots import plot_sharing
from workload import PROFILES, Query, make_queries

from tidemill.spark.session import start_session

FILES_PER_TICK = 4
# Structured Streaming keeps its state in memory by default, or in RocksDB.
PEERS = ("spark", "spark-rocksdb", "flink")
Contenders = dict[str, Callable[[], Outcome]]
Sections = dict[str, dict[str, Timing]]


def main() -> None:
    options = _options()
    scratch = Path(tempfile.mkdtemp(prefix="tidemill-bench-"))
    sections: Sections = {}
    try:
        for name, timings in _sections(options, scratch):
            sections[name] = timings
            _save(options, sections)  # what is measured stays, should a later section be cut off
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print_targets(targets(sections))
    plot_sharing(options.json, options.plot)
    tell(f"wrote {options.json} and {options.plot}")


def _save(options: argparse.Namespace, sections: Sections) -> None:
    """Sections of a file that is there stay, with the command of each, unless measured anew."""
    old = json.loads(options.json.read_text()) if options.json.exists() else {}
    kept = {name: _read(timings) for name, timings in old.get("sections", {}).items()}
    every = {**kept, **sections}
    content = {
        "commands": {**old.get("commands", {}), **dict.fromkeys(sections, command())},
        "sections": {
            name: {timing.name: asdict(timing) for timing in timings.values()}
            for name, timings in every.items()
        },
        "targets": [{**asdict(target), "met": target.met} for target in targets(every)],
    }
    write_json(options.json, content)


def _read(timings: dict[str, dict[str, Any]]) -> dict[str, Timing]:
    return {name: Timing(**timing) for name, timing in timings.items()}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tidemill bench sharing",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--rows", type=int, default=10_000_000)
    add("--groups", type=int, default=1_000)
    add("--keys", choices=("zipf", "uniform"), default="zipf", help="how rows fall on groups")
    add("--rate", type=int, default=50_000, help="rows per second of stream time")
    add("--rows-per-tick", type=int, default=2_000_000)
    add("--profiles", default="one,full,mixed", help="with commas, or none")
    add("--format", choices=("parquet", "csv"), default="parquet", help="of files but the peers'")
    add("--queries", default="1,10,100,1000", help="numbers of queries, with commas")
    add("--against", default="spark,flink", help=f"of {', '.join(PEERS)}, with commas; or none")
    add("--peer-queries", default="1,10,50", help="numbers of queries of the peers")
    add("--peer-memory", default="6g", help="heap of each peer")
    add("--timeout", type=float, default=900.0, help="seconds after which a peer is stopped")
    add("--repeats", type=int, default=3)
    add("--warm-up", type=int, default=1)
    add("--json", type=Path, default=Path("sharing.json"))
    add("--plot", type=Path, default=Path("sharing.svg"))
    options = parser.parse_args()
    for name in _words(options.against):
        if name not in PEERS:
            parser.error(f"no contender '{name}'; contenders: {', '.join(PEERS)}")
    for name in _words(options.profiles):
        if name not in PROFILES:
            parser.error(f"no profile '{name}'; profiles: {', '.join(PROFILES)}")
    return options


def _sections(
    options: argparse.Namespace, scratch: Path
) -> Iterator[tuple[str, dict[str, Timing]]]:
    shape = Shape(options.rows, options.groups, options.rate, options.keys)
    counts = _numbers(options.queries)
    if profiles := _words(options.profiles):
        files = _write(options, shape, scratch, options.format)
        for profile in profiles:
            queries = make_queries(profile, max(counts), shape)
            yield profile, _section(profile, _own(files, queries, counts), options)
        shutil.rmtree(files.data)
    if against := _words(options.against):
        yield "peers", _peers(options, shape, against, scratch)


def _section(name: str, contenders: Contenders, options: argparse.Namespace) -> dict[str, Timing]:
    tell(f"section {name}")
    timings = side_by_side(contenders, options.repeats, options.warm_up)
    print_section(f"{name}: {options.rows:,} rows, {options.groups:,} groups", timings)
    return timings


def _write(options: argparse.Namespace, shape: Shape, scratch: Path, file_format: str) -> Files:
    files = Files(scratch / file_format, file_format, FILES_PER_TICK, scratch)

    def told(rows: int) -> None:
        tell(f"{file_format}: {rows:,} rows written")

    make_files(files.data, shape, options.rows_per_tick, FILES_PER_TICK, file_format, told)
    return files


def _own(files: Files, queries: Sequence[Query], counts: Sequence[int]) -> Contenders:
    session = start_session(app="bench sharing")
    contenders: Contenders = {"bare": partial(run_bare, session, files)}
    for count in counts:
        contenders[f"tidemill {count}"] = partial(run_tidemill, files, queries[:count])
    return contenders


def _peers(
    options: argparse.Namespace, shape: Shape, against: Sequence[str], scratch: Path
) -> dict[str, Timing]:
    counts, own_counts = _numbers(options.peer_queries), _numbers(options.queries)
    most = sorted({*counts, *own_counts})
    queries = make_queries("one", most[-1], shape, windows="multiples")
    check_answers(against, scratch, options.peer_memory)
    files = _write(options, shape, scratch, "csv")
    contenders = _own(files, queries, most)
    peers = {name: _peer(name, files, shape, options) for name in against}
    for name, count in ((name, count) for name in against for count in counts):
        job = (flink_job if name == "flink" else spark_job)(queries[:count])
        contenders[f"{name} {count}"] = partial(peers[name].run, job)
    try:
        return _section("peers", contenders, options)
    finally:
        for peer in peers.values():
            peer.close()


def _peer(name: str, files: Files, shape: Shape, options: argparse.Namespace) -> Peer:
    if name == "flink":
        return flink_peer(files, shape, options.peer_memory, options.timeout)
    state = "rocksdb" if name == "spark-rocksdb" else "memory"
    return spark_peer(files, state, options.peer_memory, options.timeout)


def _numbers(text: str) -> list[int]:
    return [int(word) for word in _words(text)]


def _words(text: str) -> list[str]:
    return [] if text == "none" else [word.strip() for word in text.split(",")]


if __name__ == "__main__":
    main()
