"""What waiting for a silent stream costs, and what promises save: the papers' experiments.

    tidemill bench timestamps             some minutes; results and plots go into the clone
    tidemill bench timestamps --quick     a short one, printed alone

Simulated on the tuple engine in `reference/graph`, with a virtual clock; and, in the section
`ticks`, the same four on the engine's own ticks, whose clock is moved by hand too.
A: no promises. B: a punctuation every so often on the sparse stream. C: promises on demand.
D: a union that does not order, which nothing can hold up.

Where the source is silent: it does not restate the rates of its figures 3.13 and 3.14, and its
costs are those of a machine of 2007. Rates here are those it names elsewhere; where a cost
matters, it is in the title. Its graph of figure 3.15 is lost: ours has two unions and a slide
aggregate, and filters on every way between them. B's peak rises again at high rates only where
a punctuation costs something, so that figure has costs.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from _harness import print_table, tell, write_json
from _timestamps.simulation import Measures, chain, loads, measure, pair, slides
from _timestamps.ticks import TickMeasures, in_ticks

from tidemill.reference.graph.arrivals import SECOND_US, in_turn, poisson
from tidemill.reference.graph.items import GraphItem
from tidemill.reference.graph.operators import GraphFilter, LatentUnion, OrderedUnion
from tidemill.reference.graph.plan import GraphNode, QueryGraph

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "timestamps.json"
IMAGES = HERE.parent / "docs" / "images"
RATES = ((50.0, 0.05), (1000.0, 0.5))
BEATS = (0.1, 1.0, 10.0, 100.0, 1000.0)
BURST_COST_US = 100
PEAK_COST_US = 200
LOOK_US = 100_000  # between two looks of the engine at its sources
Runs = Iterator[tuple[dict[str, Any], Callable[[], Measures]]]  # a setting and its run
TickRuns = Iterator[tuple[dict[str, Any], Callable[[], TickMeasures]]]


def waiting(items: int) -> Runs:
    """Figures 3.13 and 3.14: latency and idle-waiting of A to D, where a step costs nothing."""
    for fast, sparse in RATES:
        for beats in (0.0, *BEATS):
            setting = {"fast": fast, "sparse": sparse, "variant": "B" if beats else "A"}
            run = partial(_pair, fast, sparse, items, beats=beats)
            yield {**setting, "beats": beats}, run
        for variant, way in (("C", "arcs"), ("D", None)):
            run = partial(_pair, fast, sparse, items, way=way, is_latent=variant == "D")
            yield {"fast": fast, "sparse": sparse, "variant": variant, "beats": 0.0}, run


def peaks(items: int) -> Runs:
    """Figure 3.17: the most that is held, where every step costs something."""
    fast, sparse = RATES[0]
    for beats in (0.0, *BEATS, 2000.0, 2600.0):
        setting = {"variant": "B" if beats else "A", "beats": beats}
        yield setting, partial(_pair, fast, sparse, items, beats=beats, cost_us=PEAK_COST_US)
    run = partial(_pair, fast, sparse, items, way="arcs", cost_us=PEAK_COST_US)
    yield {"variant": "C", "beats": 0.0}, run


def rules(items: int) -> Runs:
    """Figure 3.12a: depth first, breadth first and round robin, with and without promises."""
    for rule in ("dfs", "bfs", "rr"):
        for way in (None, "punctuation", "arcs"):
            run = partial(_pair, *RATES[1], items, rule=rule, way=way, cost_us=20)
            yield {"rule": rule, "way": way or "none"}, run


def bursts(items: int) -> Runs:
    """Figure 3.12b: a path of two operators, and bursts of n tuples at a time."""
    for n in (1, 3, 10, 30, 100, 300):
        for rule, expected in (("dfs", n + 1), ("bfs", 1.5 * n + 0.5)):
            setting = {"n": n, "rule": rule, "expected_s": expected * BURST_COST_US / SECOND_US}
            yield setting, partial(_bursts, n, rule, items)


def graphs(items: int) -> Runs:
    """Figure 3.15: the same promises as punctuations and along the arcs of the enhanced graph."""
    for filters in (0, 1, 2, 4, 8):
        for way in ("punctuation", "arcs"):
            yield {"filters": filters, "way": way}, partial(_chain, filters, way, items)


def slide_sizes(items: int) -> Runs:
    """Figure 3.16: how unevenly tuples leave beside counts by slide."""
    for slide_us in (20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000):
        for way in (None, "arcs"):
            setting = {"slide_s": slide_us / SECOND_US, "way": way or "none"}
            yield setting, partial(_slides, slide_us, way, items)


def ticks(items: int) -> TickRuns:
    """Figures 3.13, 3.14 and 3.17 in ticks of the engine, which looks ten times a second."""
    fast, sparse = RATES[0]
    until_us = int(min(items / 20 / fast, 120) * SECOND_US)
    variants = [("A", 0.0, "none"), ("C", 0.0, "on demand"), ("D", 0.0, "none")]
    variants += [("B", beats, f"every {1000 / beats:g} ms") for beats in (0.1, 1.0, 10.0)]
    for variant, beats, promises in variants:
        setting = {"fast": fast, "sparse": sparse, "variant": variant, "beats": beats}
        run = partial(in_ticks, fast, sparse, until_us, promises, LOOK_US, variant != "D")
        yield setting, run


def _pair(
    fast: float,
    sparse: float,
    items: int,
    *,
    beats: float = 0.0,
    rule: str = "dfs",
    way: str | None = None,
    cost_us: int = 0,
    is_latent: bool = False,
) -> Measures:
    # So long that as many items come in whatever the rates, and never less than a sparse gap.
    until_us = int(max(items / (fast + beats), 20 / sparse) * SECOND_US)
    union = LatentUnion(cost_us) if is_latent else OrderedUnion(cost_us)
    return measure(pair(union, cost_us), loads(fast, sparse, until_us, beats), rule, way)


def _bursts(n: int, rule: str, items: int) -> Measures:
    """One burst after the other, each when the one before is done."""
    nodes = [
        GraphNode(f"o{k}", GraphFilter(cost_us=BURST_COST_US), (f"o{k - 1}" if k else "s",))
        for k in range(2)
    ]
    pause_us = 4 * n * BURST_COST_US
    count = max(1, items // 100 // n)
    arrivals = (
        (k * pause_us, "s", GraphItem(k * pause_us, k * pause_us))
        for k in range(1, count + 1)
        for _ in range(n)
    )
    return measure(QueryGraph(["s"], nodes), arrivals, rule)


def _chain(filters: int, way: str, items: int) -> Measures:
    until_us = int(items / 400 / 20 * SECOND_US)
    chances = {name: random.Random(k) for k, name in enumerate("abc")}
    streams = [poisson(name, 100, until_us, chance) for name, chance in chances.items()]
    return measure(chain(filters, cost_us=50), in_turn(*streams), "dfs", way)


def _slides(slide_us: int, way: str | None, items: int) -> Measures:
    until_us = int(items / 800 / 5 * SECOND_US)
    streams = [poisson("a", 400, until_us, random.Random(1))]
    streams.append(poisson("b", 400, until_us, random.Random(2)))
    return measure(slides(slide_us), in_turn(*streams), "dfs", way)


SECTIONS: Mapping[str, Callable[[int], Runs | TickRuns]] = {
    "waiting": waiting,
    "peaks": peaks,
    "rules": rules,
    "bursts": bursts,
    "graphs": graphs,
    "slides": slide_sizes,
    "ticks": ticks,
}


def study(name: str, items: int) -> list[dict[str, Any]]:
    """All runs of a section: setting and measures in a row each."""
    return [{**setting, **asdict(run())} for setting, run in SECTIONS[name](items)]


def main() -> None:
    options = _options()
    items = 20_000 if options.quick else 400_000
    sections = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        rows = pool.map(study, options.sections, [items] * len(options.sections))
        for name, section in zip(options.sections, rows, strict=True):
            tell(f"{name}: {len(section)} runs")
            sections[name] = section
            _report(name, section)
    if options.json or not options.quick:
        write_json(options.json or RESULTS, {"items": items, "sections": sections})
    if options.plots or not options.quick:
        from _timestamps.plots import draw_all  # the one part that needs matplotlib

        for path in draw_all(sections, options.plots or IMAGES):
            print(path)


def _report(name: str, section: list[dict[str, Any]]) -> None:
    header = list(section[0])
    title = (SECTIONS[name].__doc__ or name).split("\n")[0]
    print_table(title, header, [[_shown(row[column]) for column in header] for row in section])


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tidemill bench timestamps",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--sections", nargs="+", choices=list(SECTIONS), default=list(SECTIONS), metavar="NAME"
    )
    parser.add_argument("--quick", action="store_true", help="fewer tuples, nothing written")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--json", type=Path, help="default: in bench/results")
    parser.add_argument("--plots", type=Path, help=f"default {IMAGES.relative_to(HERE.parent)}")
    return parser.parse_args()


if __name__ == "__main__":
    main()
