"""Windows in whole seconds, and the workloads of the worked examples."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from tidemill.share.weave import Operations, Workload
from tidemill.windows import WindowSpec

US = 1_000_000


def seconds(range_, slide, start=0):
    return WindowSpec(range_ * US, slide * US, start * US)


def workload(*pairs):
    return Workload.of(seconds(*pair) for pair in pairs)


def operations(rows_per_second):
    return Operations(Fraction(rows_per_second))


@st.composite
def windows(draw, longest=12):
    """Sliding, tumbling and hopping windows, some with a START."""
    slide = draw(st.integers(1, longest))
    start = draw(st.sampled_from([0, 0, 0, slide // 2, slide - 1]))
    return seconds(draw(st.integers(1, 3 * longest)), slide, start)


def window_lists(least=1, most=6, longest=12):
    return st.lists(windows(longest), min_size=least, max_size=most)


# Rows per second around the edge rates, where plans differ; and thirds, which floats lack.
rates = st.fractions(0, 30, max_denominator=3)


class Floats(Operations):
    """The same model in floats, as costs in seconds would be."""

    def weights(self, windows):
        return super().weights(windows).astype(np.float64) * 1e-9

    def charge(self, processing, edge_rate):
        return float(super().charge(processing, edge_rate)) * 1e-9

    def fixed(self, processing, edge_rate, windows):
        return float(super().fixed(processing, edge_rate, windows)) * 1e-9


models = st.one_of(rates.map(operations), rates.map(Floats))


@st.composite
def partitions(draw, count):
    labels = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    groups = [tuple(i for i in range(count) if labels[i] == label) for label in set(labels)]
    return tuple(sorted(groups))


@st.composite
def plans(draw, most=5, longest=6):
    """Windows in units of one, with any grouping of them."""
    specs = draw(window_lists(1, most, longest))
    units = [WindowSpec(w.range_us // US, w.slide_us // US, w.start_us // US) for w in specs]
    return units, draw(partitions(len(units)))
