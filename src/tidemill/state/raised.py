"""Errors in rows by whose rows they are: a query is charged with those that its conditions pass.

A scan counts them by signature, as it does cells, and names the synopsis that gets the row. What
raises in a condition itself is counted for all rows, since it decides whose a row is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

import numpy as np

from tidemill.arrays import BoolArray, IntArray
from tidemill.plan.predicates import Predicate, Reading, has_bit, set_bit
from tidemill.plan.predicates.signatures import SignatureWords
from tidemill.state.feed import Feed
from tidemill.state.synopsis import Synopsis

RaisedCounts = Mapping[str, int]  # by synopsis, signature and expression, in one text
_ANY = "*"  # a synopsis, of counts that an earlier release has not told apart


def raised_by_signature(
    feed: Feed, sql: str, words: SignatureWords, counts: IntArray
) -> dict[str, int]:
    """How often an expression raised in rows of these signatures of the feed's scan."""
    raised: dict[str, int] = {}
    for synopsis in feed.synopses:
        if sql in _texts(synopsis):
            for signature, count in zip(_signed(feed, synopsis, words), counts, strict=True):
                key = f"{synopsis.id} {'.'.join(f'{word:x}' for word in signature)} {sql}"
                raised[key] = raised.get(key, 0) + int(count)
    return raised


def of_any_row(raised: Mapping[str, int]) -> dict[str, int]:
    """Counts by expression alone: they are those of every query that has it."""
    return {f"{_ANY} . {sql}": count for sql, count in raised.items()}


def restated(raised: RaisedCounts, text_of: Callable[[str], str]) -> dict[str, int]:
    """With the texts that expressions have now."""
    counts: dict[str, int] = {}
    for key, count in raised.items():
        name, signature, sql = key.split(" ", 2)
        # What has two wordings is there twice, for the same rows.
        counts[f"{name} {signature} {text_of(sql)}"] = count
    return counts


class RaisedTable:
    """The counts of a tick, to be asked for one query after the other."""

    def __init__(self, raised: RaisedCounts) -> None:
        by_expression: dict[tuple[str, str], list[tuple[list[int], int]]] = {}
        for key, count in raised.items():
            name, signature, sql = key.split(" ", 2)
            words = [int(word, 16) for word in signature.split(".") if word]
            by_expression.setdefault((name, sql), []).append((words, count))
        self._by_expression = by_expression

    def of_query(self, synopsis: Synopsis, reading: Reading, texts: Collection[str]) -> int:
        """How often some expressions raised in the rows that a query reads."""
        total = 0
        for sql in texts:
            total += sum(count for _, count in self._by_expression.get((_ANY, sql), ()))
            if rows := self._by_expression.get((synopsis.id, sql)):
                words = np.array([words for words, _ in rows], np.int64).reshape(len(rows), -1)
                counts = np.array([count for _, count in rows])
                total += int(counts[reading.matches(words)].sum())
        return total


def _texts(synopsis: Synopsis) -> frozenset[str]:
    return frozenset(_expressions(synopsis))


def _expressions(synopsis: Synopsis) -> Iterator[str]:
    yield from (key.scalar.sql for key in synopsis.keys)
    yield from (scalar.sql for lane in synopsis.lanes for scalar in lane.arguments)


def _signed(feed: Feed, synopsis: Synopsis, words: SignatureWords) -> SignatureWords:
    """The signatures in the synopsis's own bits."""
    signed = np.zeros((len(words), len(synopsis.signature_columns)), dtype=np.int64)
    for bit in synopsis.bits:
        set_bit(signed, bit.number, _holding(feed, bit.predicate, words))
    return signed


def _holding(feed: Feed, predicate: Predicate, words: SignatureWords) -> BoolArray:
    if predicate.is_true:
        return np.ones(len(words), dtype=np.bool_)
    return has_bit(words, feed.bit(predicate))
