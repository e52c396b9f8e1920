"""EXPLAIN SHARED ALL: a page on what is shared, why, and what that saves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidemill import words
from tidemill.explain.parts import explain_pass, explain_synopsis
from tidemill.explain.stream_model import Arrangement, Found
from tidemill.share.rules import SENTENCES
from tidemill.share.sample import GUESSED_VALUES

# Shown on a page, before the rest is counted.
MOST_PASSES, MOST_SYNOPSES = 12, 24
_LEGEND = "a synopsis keeps partial results by slice of time and group; 1 min / 10 s is a\n" + (
    " " * 12 + "window of one minute, every ten seconds"
)


def explain_shared(arrangements: Sequence[Arrangement]) -> str:
    """One stream after another: summary, rules, passes, synopses."""
    if not arrangements:
        return "no queries"
    return "\n\n".join("\n".join(_page(each)) for each in arrangements)


def _page(found: Arrangement) -> Iterator[str]:
    yield from _summary(found)
    yield from _why([rule for query in found.queries for rule in found.rules(query)])
    for number, feeds in enumerate(found.passes[:MOST_PASSES], 1):
        yield ""
        yield from explain_pass(found, number, feeds)
    yield from _rest(len(found.passes) - MOST_PASSES, "pass")
    for synopsis in found.synopses[:MOST_SYNOPSES]:
        yield ""
        yield from explain_synopsis(found, synopsis)
    yield from _rest(len(found.synopses) - MOST_SYNOPSES, "synopsis")


def _rest(count: int, word: str) -> Iterator[str]:
    if count > 0:
        yield ""
        yield f"and {words.many(count, word)} more; EXPLAIN SHARED QUERY tells of one query"


def _summary(found: Arrangement) -> Iterator[str]:
    queries = words.many(len(found.queries), "query")
    kept = words.many(len(found.synopses), "synopsis")
    passes = words.many(len(found.passes), "pass")
    read = f"{passes} over the rows (plan {found.plan.version})"
    yield f"{queries} on {found.stream.written}: {kept}, {read}"
    yield f"  cost      {_saving(found)}"
    yield f"  estimate  {_basis(found)}"
    if found.settings.sharing != "auto" or found.settings.steps_off:
        off = found.settings.steps_off or "none"
        yield f"  settings  sharing = {found.settings.sharing}, steps off: {off}"
    yield f"  legend    {_LEGEND}"


def _saving(found: Arrangement) -> str:
    shared = f"{words.work(found.seconds)} of a core per second of stream"
    if len(found.queries) == 1:
        return shared
    times = found.seconds_apart / found.seconds
    return f"{shared}; each query alone: {words.work(found.seconds_apart)}, {times:.1f} times that"


def _basis(found: Arrangement) -> str:
    sample = found.costs.sample
    rate = f"{words.rows(sample.rows_per_second)} rows a second"
    if found.is_sampled:
        return f"from a sample of {sample.size:,} rows, {rate}"
    return f"guessed, as no sample was taken: {rate}, {GUESSED_VALUES} values for each key"


def _why(found: Sequence[Found]) -> Iterator[str]:
    """Each rule once, with how many queries share by it and one of them."""
    by_rule: dict[str, list[Found]] = {}
    for each in found:
        by_rule.setdefault(each.rule, []).append(each)
    if by_rule:
        yield ""
        yield "why they share"
    for name in (name for name in SENTENCES if name in by_rule):
        count = words.many(len(by_rule[name]), "query")
        told = [SENTENCES[name], f"({by_rule[name][0]})"]
        yield words.wrapped(f"  {name}  {count:<13}  ", told, between=" ")
