"""Where edges are counted: exactly when that is possible, else by estimates that are close."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.share.weave.words import US, seconds, window_lists
from tidemill.share.weave import Operations, Processing, Timeline, Workload, affinity, link, rate_of
from tidemill.share.weave.common_edges import CommonEdges
from tidemill.share.weave.density import common_class, drawn_density, union_density
from tidemill.share.weave.holders import Holders
from tidemill.windows import EdgeClass, WindowSpec, edge_classes, edge_rate

PRIMES = (101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163)

classes = st.builds(EdgeClass, st.integers(0, 40), st.integers(1, 24))


@given(classes, classes)
def test_two_classes_meet_where_both_are(a, b):
    composite = math.lcm(a.period_us, b.period_us)
    both = [
        t
        for t in range(composite)
        if (t - a.offset_us) % a.period_us == 0 == (t - b.offset_us) % b.period_us
    ]
    found = common_class(a, b)
    assert ([] if found is None else [found.offset_us]) == both
    assert found is None or found.period_us == composite


@given(st.lists(classes, max_size=6))
def test_the_density_of_a_union_is_that_of_counting(found):
    composite = math.lcm(*(edge.period_us for edge in found))
    marked = np.zeros(composite, bool)
    for edge in found:
        marked[edge.offset_us :: edge.period_us] = True
    assert union_density(found) == Fraction(int(marked.sum()), composite)


@given(window_lists(1, 6))
def test_a_short_composite_slide_is_counted_exactly(specs):
    line = Timeline.of(specs)
    assert line.exact
    for chosen in (specs, specs[:1], specs[::2]):
        assert line.rate(int(line.mask(chosen).sum())) == edge_rate(chosen)
        assert line.times(line.mask(chosen)).size == line.mask(chosen).sum()
    assert np.flatnonzero(line.mask(specs[:1])).tolist() == line.places(specs[0]).tolist()
    assert all(map(line.holds, specs))


def long_composite():
    """Thirteen prime slides: the composite slide is longer than the age of the universe."""
    return [seconds(2 * slide, slide, slide // 3) for slide in PRIMES]


def independent(slides):
    """Coprime classes common_class as if by chance."""
    return 1 - math.prod(1 - 1 / slide for slide in slides)


def test_a_long_composite_slide_is_estimated_on_a_horizon():
    specs = long_composite()
    line = Timeline.of(specs)
    assert not line.exact
    assert line.span_us >= 10 * max(PRIMES) * US
    rate = rate_of(specs)
    assert not rate.exact
    assert float(rate.per_second) == pytest.approx(independent(PRIMES), rel=0.01)


def test_windows_off_any_grid_are_listed():
    specs = [WindowSpec(2 * slide, slide) for slide in (7_123_457, 11_234_567, 3_333_333)] * 2
    specs += [WindowSpec(5_000_000 + k, 900_000 + 7 * k) for k in range(9)]
    line = Timeline.of(specs)
    assert line.instants is not None
    assert line.size <= 2**20
    assert all(map(line.holds, specs))
    assert not line.holds(WindowSpec(10, 7))
    exact = float(rate_of(specs[:3]).per_second)
    assert float(line.rate(int(line.mask(specs[:3]).sum()))) == pytest.approx(exact, rel=0.01)


def test_drawing_members_agrees_with_the_exact_density():
    found = edge_classes(long_composite()[:8])
    assert drawn_density(found, seed=1) == pytest.approx(float(union_density(found)), rel=0.02)


def test_slides_of_a_millisecond_beside_days_are_drawn():
    days = [WindowSpec(2 * slide, slide) for slide in (86_400 * US + k for k in range(12))]
    rate = rate_of([WindowSpec(3_000, 1_000, 1), WindowSpec(1_500, 1_000), *days])
    assert not rate.exact
    assert float(rate.per_second) == pytest.approx(3_000, rel=0.02)


def test_windows_of_equal_edges_are_known_without_counting():
    specs = [seconds(4, 2), seconds(8, 2), seconds(6, 2), seconds(2, 4)]
    load = Workload.of(specs)
    assert [m.loss for m in link(load, Processing.TREES, Operations(Fraction(1))).merges][:2] == [
        0,
        0,
    ]
    assert affinity(specs[:1], specs[3:]).containment == 1


@given(st.lists(st.sets(st.integers(0, 255), max_size=40), min_size=2, max_size=8), st.data())
def test_common_edges_are_those_of_sets(sets, data):
    check_common_edges(256, sets, data.draw(st.randoms(use_true_random=False)))


def test_common_edges_of_many_rare_groups_are_those_of_sets(monkeypatch):
    asked = []
    plain = Holders.counts

    def noted(self, places):
        asked.append(places.size)
        return plain(self, places)

    monkeypatch.setattr(Holders, "counts", noted)
    random = Random(5)
    sizes = [0, 1, 2, 5, 9, 30, 300, 3_000] * 12
    sets = [set(random.sample(range(2**14), size)) for size in sizes]
    check_common_edges(2**14, sets, random)
    # Both ways of asking were taken, also after the lists were laid out anew.
    assert 20 < len(asked) < len(sets) - 20


def check_common_edges(size, sets, random):
    groups = CommonEdges(size, [np.array(sorted(s), np.int32) for s in sets])
    assert groups.table.tolist() == [[len(a & b) for b in sets] for a in sets]
    sets = [set(s) for s in sets]
    left = list(range(len(sets)))
    while len(left) > 1:
        kept, gone = sorted(random.sample(left, 2))
        sets[kept] |= sets[gone]
        left.remove(gone)
        counts = groups.merge(kept, gone)
        assert [counts[slot] for slot in left] == [len(sets[kept] & sets[slot]) for slot in left]
        assert groups.edges[kept] == len(sets[kept])
