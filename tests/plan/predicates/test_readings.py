"""Readings from bits: DuckDB says which rows pass each predicate, so it knows each signature."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plan.predicates.grid import ATOMS, conditions, passing, points, read
from tidemill.plan.predicates import (
    ALL_ROWS,
    FALSE,
    NO_ROWS,
    TRUE,
    WORD_BITS,
    Reading,
    Term,
    assign_bits,
    assign_own_bits,
    read_by,
)

# Short, of few columns: then some are made of others.
SIMPLE = st.sampled_from(
    [
        *("port = 80", "port = 81", "port IN (80, 81)", "port >= 80", "port > 81", "port < 80"),
        *("proto = 'TCP'", "proto <> 'TCP'", "proto IS NULL", "ok", "NOT ok", "port IS NOT NULL"),
        *("proto LIKE 'T%'", "port = 80 AND ok", "port = 81 OR proto = 'TCP'"),
    ]
)
TEXTS = conditions(st.one_of(SIMPLE, SIMPLE, SIMPLE, ATOMS), most=3)
FORMS = ("{0}", "({0}) AND ({1})", "({0}) OR ({1})", "({0}) AND NOT ({1})", "({0}) AND {2}", "{2}")


def signatures(texts):
    """One row of words per row of the grid, from what DuckDB says of the texts by bit."""
    words = max(texts, default=0) // WORD_BITS + 1
    found = np.zeros((len(points()), words), dtype=np.int64)
    for bit, text in texts.items():
        for row in passing(text):
            found[row, bit // WORD_BITS] |= np.int64(1 << bit % WORD_BITS)
    return found


def rows_read(reading, texts):
    return frozenset(np.flatnonzero(reading.matches(signatures(texts))).tolist())


def kind(reading):
    if len(reading.terms) > 1:
        return "disjunction"
    term = reading.terms[0]
    if term.forbid:
        return "without"
    return "conjunction" if len(term.bits) > 1 else "equal"


def test_a_reading_gives_the_rows_that_pass():
    seen: Counter[str] = Counter()

    @settings(max_examples=300)
    @given(st.data(), st.lists(SIMPLE, min_size=3, max_size=8, unique=True), st.integers(0, 130))
    def check(data, listed, first):
        texts = dict(enumerate(listed, start=first))
        form = data.draw(st.sampled_from(FORMS))
        text = form.format(*data.draw(st.permutations(listed))[:2], data.draw(TEXTS))
        query = read(text)
        reading = read_by(query, {bit: read(each) for bit, each in texts.items()})
        if reading is None:
            seen["none"] += 1
            return
        assert rows_read(reading, texts) == passing(text)
        seen["constant" if query in (TRUE, FALSE) else kind(reading)] += 1

    check()
    wanted = ("none", "constant", "equal", "conjunction", "without", "disjunction")
    assert min(seen[each] for each in wanted) >= 3, seen


def test_every_predicate_is_read_and_those_covered_take_no_bit():
    seen: Counter[str] = Counter()

    @settings(max_examples=100)
    @given(
        st.lists(TEXTS, max_size=10),
        st.dictionaries(st.integers(60, 70), SIMPLE, max_size=3),
        st.sets(st.integers(0, 5)),
    )
    def check(texts, taken, blocked):
        by_form = {read(text): text for text in reversed(texts)}
        kept = {bit: read(text) for bit, text in taken.items()}
        found = assign_bits(map(read, texts), kept, blocked)
        assert found == assign_bits(map(read, texts), kept, blocked)
        assert kept.items() <= found.bits.items()
        new = {bit: each for bit, each in found.bits.items() if bit not in kept}
        assert not set(new) & blocked
        assert not {TRUE, FALSE} & set(new.values())
        texts_by_bit = {**taken, **{bit: by_form[each] for bit, each in new.items()}}
        assert set(found.readings) == set(by_form)
        for predicate, text in by_form.items():
            assert rows_read(found.readings[predicate], texts_by_bit) == passing(text)
        seen["covered"] += len(set(by_form) - {TRUE, FALSE}) > len(new)
        seen["new"] += bool(new)

    check()
    assert min(seen["covered"], seen["new"]) >= 10, seen


def bits(*texts):
    return dict(enumerate(map(read, texts)))


def test_rules():
    assert read_by(TRUE, {}) == ALL_ROWS
    assert read_by(FALSE, {}) == NO_ROWS
    ports = bits("port = 80", "port = 443", "proto = 'TCP'", "port IN (22, 80)")
    assert read_by(read("port = 443"), ports) == Reading((Term(0b10),))
    assert read_by(read("port IN (80, 443)"), ports) == Reading((Term(0b1), Term(0b10)))
    assert read_by(read("port = 22"), ports) == Reading((Term(0b1000, forbid=0b1),))
    assert read_by(read("proto = 'TCP' AND port = 80"), ports) == Reading((Term(0b101),))
    either = read("port = 80 AND proto = 'TCP' OR port = 443")
    assert read_by(either, ports) == Reading((Term(0b10), Term(0b101)))
    assert read_by(read("port IS NULL OR port <> 80"), ports) == Reading((Term(0, forbid=1),))
    # Rows without a port pass neither, so this is no complement.
    assert read_by(read("port <> 80"), ports) is None
    assert read_by(read("port = 23"), ports) is None


def test_a_dropped_number_is_free_once_it_is_not_blocked():
    port, proto = read("port = 1"), read("proto = 'a'")
    assert assign_bits([proto], {1: port}, blocked=[0]).bits == {1: port, 2: proto}
    assert assign_bits([proto], {1: port}).bits == {0: proto, 1: port}


def test_without_covers_each_predicate_has_its_own_bit_and_true_only_where_rows_are_routed():
    port, ports = read("port = 80"), read("port IN (80, 443)")
    wanted = [ports, TRUE, port, FALSE, ports]
    found = assign_own_bits(wanted, {1: port}, blocked=[0])
    assert found.bits == {1: port, 2: ports}
    one = {port: Reading((Term(0b10),)), ports: Reading((Term(0b100),)), FALSE: NO_ROWS}
    assert found.readings == {**one, TRUE: ALL_ROWS}
    routed = assign_own_bits(wanted, {1: port}, blocked=[0], routed=True)
    assert routed.bits == {1: port, 2: ports, 3: TRUE}
    assert routed.readings == {**one, TRUE: Reading((Term(0b1000),))}


def test_a_signature_of_three_words():
    reading = Reading((Term(1 << 130 | 1, forbid=1 << 62),))
    rows = np.array([[1, 0, 16], [1 | 1 << 62, 0, 16], [1, 0, 0], [0, 0, 16]], dtype=np.int64)
    assert reading.matches(rows).tolist() == [True, False, False, False]
    assert reading.bits == (0, 62, 130)
    assert ALL_ROWS.matches(rows).all()
    assert not NO_ROWS.matches(rows).any()
