"""EXPLAIN SHARED: the synopses, each once, with the queries that read them."""

from __future__ import annotations

from fractions import Fraction

from tidemill.plan.explain import window_text
from tidemill.share.model import SharedPlan
from tidemill.synopsis.model import Synopsis
from tidemill.windows import EdgeClass, WindowSpec, edge_rate, edges_between

_SHOWN_EDGES = 12
_US = 1_000_000


def explain_shared(plan: SharedPlan) -> str:
    """A page: what is kept, cut where, for whom, and what sharing saves."""
    queries, synopses = _count(len(plan.queries), "query"), _count(len(plan.synopses), "synopsis")
    head = f"plan version {plan.version}: {queries} from {synopses}"
    return "\n\n".join([head, *(_synopsis(s, plan, n) for n, s in enumerate(plan.synopses, 1))])


def _count(number: int, word: str) -> str:
    plural = {"query": "queries", "synopsis": "synopses"}[word]
    return f"{number:,} {word if number == 1 else plural}"


def _synopsis(synopsis: Synopsis, plan: SharedPlan, number: int) -> str:
    keys = ", ".join(key.scalar.sql for key in synopsis.keys) or "(one group)"
    lines = [f"synopsis s{number} on {synopsis.stream}"]
    where = " | ".join(bit.predicate.sql for bit in synopsis.bits) or "(all rows)"
    lines.append(f"  where   {where}")
    lines.append(f"  keys    {keys}")
    lines.append(f"  keeps   {', '.join(lane.sql for lane in synopsis.lanes)}")
    lines.append(f"  edges   {', '.join(map(_edge_class, synopsis.cuts.classes))}")
    lines.append(f"  slices  {_slices(synopsis.cuts.classes)}")
    lines.append(f"  rate    {_rate(synopsis.cuts.windows)}")
    lines += [
        f"  serves  {query.name} {window_text(query.window)}"
        for query, _ in plan.readers_of(synopsis)
    ]
    return "\n".join(lines)


def _edge_class(edge: EdgeClass) -> str:
    offset = f" + {_seconds(edge.offset_us)}" if edge.offset_us else ""
    return f"every {_seconds(edge.period_us)}{offset}"


def _slices(classes: tuple[EdgeClass, ...]) -> str:
    span = max(edge.period_us for edge in classes)
    while len(edges := edges_between(classes, 0, span + 1)) <= 2:
        span *= 2
    shown = [_seconds(int(edge)) for edge in edges[: _SHOWN_EDGES + 1]]
    more = " …" if len(edges) > _SHOWN_EDGES else ""
    cut = " | ".join(shown)
    return f"{cut}{more}   (edges from a common start, in seconds)"


def _rate(windows: tuple[WindowSpec, ...]) -> str:
    together = edge_rate(windows)
    apart = sum((edge_rate([spec]) for spec in windows), Fraction(0))
    return f"{float(together):.4g} edges/s together, {float(apart):.4g} apart"


def _seconds(span_us: int) -> str:
    whole, rest = divmod(span_us, _US)
    return f"{whole}{f'.{rest:06d}'.rstrip('0') if rest else ''} s"
