"""FREQUENT beside APPROX_TOP_K: what they find, what they miss, and the room they take.

    tidemill bench frequent --json bench/results/frequent.json --plot docs/images/frequent.svg

Windows of 100,000 rows at random places of a stream of 1,647 sources, as in the thesis, whose
trace of connections is not at hand: sessions of Zipf's sources with lengths by Pareto's law,
some of them open at a time, so that sources come in bursts. The same rows shuffled show how
much that matters. Nothing is run on Spark: FREQUENT is the engine's own, over counts of
sub-windows of so many rows, and APPROX_TOP_K the sketch behind it, over each whole window.

- *recall*: of the sources above the threshold, the share that is reported. *precision*: of
  those reported, the share above it. The threshold of both is FREQUENT's δ.
- *space*: pairs of value and count that are kept for a sliding window, in all its sub-windows.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from _bursts import burst_stream
from _harness import print_table, tell, write_json
from plots import plot_frequent

from tidemill.aggregates import Bags, bags
from tidemill.aggregates.sketches.frequent import Items
from tidemill.arrays import IntArray
from tidemill.state.layouts.bag_runs import Runs, SortedBags

WINDOW_ROWS = 100_000
SUBWINDOW_ROWS = (20, 100, 500)
LISTS = range(1, 11)
LOG_SIZES = (5, 7, 9)


@dataclass(frozen=True)
class Found:
    """Means over the windows of one setting."""

    stream: str
    contender: str  # frequent, or items with the logarithm of its places
    subwindow_rows: int
    k: int
    delta: float  # as a share of the window
    above: float  # sources above the threshold
    recall: float
    precision: float
    space: float


def main() -> None:
    options = _options()
    rows = burst_stream(options.rows, seed=3)
    shuffled = np.random.default_rng(4).permutation(rows)
    found: list[Found] = []
    for name, stream in (("bursts", rows), ("shuffled", shuffled)):
        tell(f"{name}: {options.windows} windows of {len(stream):,} rows")
        found += _study(name, stream, options.windows)
    write_json(options.json, {"frequent": [asdict(one) for one in found]})
    plot_frequent(options.json, options.plot)
    _print(found)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tidemill bench frequent",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--windows", type=int, default=100)
    parser.add_argument("--json", type=Path, default=Path("frequent.json"))
    parser.add_argument("--plot", type=Path, default=Path("frequent.svg"))
    return parser.parse_args()


def _study(name: str, stream: IntArray, windows: int) -> Iterator[Found]:
    dice = np.random.default_rng(5)
    # Places that are edges of every kind of sub-window.
    step = max(SUBWINDOW_ROWS)
    starts = dice.choice((len(stream) - WINDOW_ROWS) // step, windows, replace=False) * step
    truths = [np.bincount(stream[low : low + WINDOW_ROWS]) for low in np.sort(starts).tolist()]
    known = [_sketched(truth) for truth in truths]
    for rows in SUBWINDOW_ROWS:
        cells = _counted(stream, rows)
        slices, distinct = WINDOW_ROWS // rows, float(cells.bags.sizes.mean())
        for k in LISTS:
            first = np.sort(starts) // rows
            runs = Runs(cells, first, first + slices, first * rows)
            answer = runs.frequent(k, rows)
            ends = np.cumsum(answer.sizes)
            values = runs.dictionary.take(pa.array(answer.codes)).to_numpy()
            reported = [values[e - n : e] for e, n in zip(ends, answer.sizes, strict=True)]
            deltas = answer.delta.tolist()
            space = slices * min(k, distinct)
            yield _mean(name, "frequent", rows, k, deltas, truths, reported, space)
            for log_size in LOG_SIZES:
                items = [
                    _above(one[log_size], delta) for one, delta in zip(known, deltas, strict=True)
                ]
                space = slices * min(0.75 * 2**log_size, distinct)
                contender = f"items {log_size}"
                yield _mean(name, contender, rows, k, deltas, truths, items, space)


def _counted(stream: IntArray, rows: int) -> SortedBags:
    """A cell for each sub-window, with the counts of its values."""
    cell = np.arange(len(stream)) // rows
    pairs, counts = np.unique(cell * 10_000 + stream, return_counts=True)
    sizes = np.bincount(pairs // 10_000)
    end = np.cumsum(sizes)
    whole = bags.from_rows(pa.array(pairs % 10_000), counts[None, :].astype(np.int64))
    starts = np.arange(len(sizes)) * rows
    return SortedBags(
        Bags(end - sizes, end, whole.codes, whole.weights, whole.dictionary, start_us=starts)
    )


Sketched = dict[int, IntArray]


def _sketched(truth: IntArray) -> Sketched:
    """By logarithm of its places, what the sketch of a window knows: value, low bound."""
    values = np.flatnonzero(truth)
    # The library is told each value once with its count, as it is for a slice.
    found = {}
    for log_size in LOG_SIZES:
        family = Items(log_size, of_text=False)
        state = family.make(values.tolist(), truth[values].tolist())
        found[log_size] = np.stack([state.keys, state.counts], axis=1)
    return found


def _above(items: IntArray, delta: int) -> IntArray:
    found: IntArray = items[items[:, 1] > delta, 0]
    return found


def _mean(
    stream: str,
    contender: str,
    rows: int,
    k: int,
    deltas: Sequence[int],
    truths: Sequence[IntArray],
    reported: Sequence[IntArray],
    space: float,
) -> Found:
    above = [np.flatnonzero(truth > delta) for truth, delta in zip(truths, deltas, strict=True)]
    right = [np.intersect1d(mine, all_) for mine, all_ in zip(reported, above, strict=True)]
    recall = [len(r) / len(a) for r, a in zip(right, above, strict=True) if len(a)]
    precision = [len(r) / len(m) for r, m in zip(right, reported, strict=True) if len(m)]
    return Found(
        stream,
        contender,
        rows,
        k,
        float(np.mean(deltas)) / WINDOW_ROWS,
        float(np.mean([len(one) for one in above])),
        float(np.mean(recall)) if recall else float("nan"),
        float(np.mean(precision)) if precision else float("nan"),
        space,
    )


def _print(found: Sequence[Found]) -> None:
    largest = f"items {LOG_SIZES[-1]}"
    shown = [o for o in found if o.k in (1, 3, 5, 7, 10) and o.contender in ("frequent", largest)]
    rows = [
        [
            f"{one.stream}, {one.contender}",
            str(one.subwindow_rows),
            str(one.k),
            f"{one.delta:.2%}",
            f"{one.above:.1f}",
            f"{one.recall:.1%}",
            f"{one.precision:.1%}",
            f"{one.space:,.0f}",
        ]
        for one in shown
    ]
    header = ["stream, contender", "sub-window", "k", "δ", "above", "recall", "precision", "space"]
    print_table("frequent items", header, rows)


if __name__ == "__main__":
    main()
