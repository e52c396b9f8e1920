"""Plans carried out tuple by tuple, in the plainest way, with every operation counted.

One tuple per given instant; the aggregate is a sum. It catches a plan that loses, doubles or
misplaces a fragment, and a cost formula that counts something else than what is done; the
engine's own operations are held against it in `test_engine_counts.py`. It cannot catch a wrong
idea of which windows there are, which the brute-force sums beside it share.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidemill.reference.windows import edges_of
from tidemill.share.weave import Processing


@dataclass
class Run:
    """Sums by (query, window start), and operations by level."""

    answers: dict[tuple[int, int], int] = field(default_factory=dict)
    sub_aggregations: int = 0
    intercedes: int = 0
    finals: int = 0


def run(windows, groups, processing, rows, span):
    """Answer every window of `[0, span)` from rows `(instant, value)` in that span."""
    result = Run()
    fragments = {}
    if processing is Processing.TRIOPS:
        united = sub_aggregate(windows, rows, span, result)
        for number, group in enumerate(groups):
            fragments[number] = intercede(edges([windows[m] for m in group], span), united, result)
    else:
        for number, group in enumerate(groups):
            fragments[number] = sub_aggregate([windows[m] for m in group], rows, span, result)
    for number, group in enumerate(groups):
        for member in group:
            final(member, windows[member], fragments[number], span, result)
    return result


def edges(windows, span):
    """Right edges of fragments in (0, span], the span's end included to close the last."""
    plain = [(w.range_us, w.slide_us, w.start_us) for w in windows]
    return sorted({*edges_of(plain, 1, span + 1), span})


def sub_aggregate(windows, rows, span, result):
    """Fragments by right edge: (left edge, sum). A row at an edge opens the next fragment."""
    rights = edges(windows, span)
    fragments = {right: [left, 0] for left, right in zip([0, *rights], rights, strict=False)}
    for instant, value in rows:
        holders = [f for right, f in fragments.items() if f[0] <= instant < right]
        assert len(holders) == 1
        holders[0][1] += value
        result.sub_aggregations += 1
    return fragments


def intercede(group_edges, united, result):
    """The fragments the group would have cut itself, each union fragment read once."""
    fragments, left = {}, 0
    for right in group_edges:
        parts = [f for edge, f in united.items() if left < edge <= right]
        result.intercedes += len(parts)
        fragments[right] = [left, sum(value for _, value in parts)]
        left = right
    return fragments


def final(member, window, fragments, span, result):
    start = window.first_start_after(-1)
    while start + window.range_us <= span:
        end = start + window.range_us
        parts = [f for right, f in fragments.items() if start < right <= end]
        assert min(left for left, _ in parts) == start
        result.finals += len(parts)
        result.answers[member, start] = sum(value for _, value in parts)
        start += window.slide_us


def brute_force(windows, rows, span):
    answers = {}
    for member, window in enumerate(windows):
        start = window.first_start_after(-1)
        while start + window.range_us <= span:
            held = [v for t, v in rows if start <= t < start + window.range_us]
            answers[member, start] = sum(held)
            start += window.slide_us
    return answers
