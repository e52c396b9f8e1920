"""EXPLAIN SHARED ALL: a page on what is shared, why, and what that saves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidemill import words
from tidemill.explain.parts import explain_pass, explain_synopsis
from tidemill.explain.row_queries import explain_rows
from tidemill.explain.stream_model import Arrangement, SharingReason
from tidemill.share.costs.sample import GUESSED_VALUES
from tidemill.share.model import specs_of
from tidemill.share.rules import SENTENCES

# Shown on a page, before the rest is counted.
MOST_PASSES, MOST_SYNOPSES = 12, 24
_LEGEND = "a synopsis keeps partial results by slice of time and group; 1 min / 10 s is a\n" + (
    " " * 12 + "window of one minute, every ten seconds"
)


def explain_shared(arrangements: Sequence[Arrangement]) -> str:
    """One stream after another: summary, rules, passes, synopses."""
    if not arrangements:
        return "no queries"
    return "\n\n".join("\n".join(_page(arrangement)) for arrangement in arrangements)


def _page(arrangement: Arrangement) -> Iterator[str]:
    if arrangement.queries:
        yield from _windows(arrangement)
    if arrangement.queries and arrangement.row_queries:
        yield ""
    if arrangement.row_queries:
        yield from explain_rows(arrangement)


def _windows(arrangement: Arrangement) -> Iterator[str]:
    yield from _summary(arrangement)
    yield from _why([rule for query in arrangement.queries for rule in arrangement.rules(query)])
    for number, feeds in enumerate(arrangement.passes[:MOST_PASSES], 1):
        yield ""
        yield from explain_pass(arrangement, number, feeds)
    yield from _rest(len(arrangement.passes) - MOST_PASSES, "pass")
    for synopsis in arrangement.synopses[:MOST_SYNOPSES]:
        yield ""
        yield from explain_synopsis(arrangement, synopsis)
    yield from _rest(len(arrangement.synopses) - MOST_SYNOPSES, "synopsis")


def _rest(count: int, word: str) -> Iterator[str]:
    if count > 0:
        yield ""
        yield f"and {words.many(count, word)} more; EXPLAIN SHARED QUERY tells of one query"


def _summary(arrangement: Arrangement) -> Iterator[str]:
    queries = words.many(len(arrangement.queries), "query")
    synopses = words.many(len(arrangement.synopses), "synopsis")
    passes = words.many(len(arrangement.passes), "pass")
    read = f"{passes} over the rows (plan {arrangement.plan.version})"
    yield f"{queries} on {arrangement.stream.written}: {synopses}, {read}"
    yield f"  cost      {_saving(arrangement)}"
    if text := _woven_or_shared(arrangement):
        yield words.wrapped("  windows   ", text.split(" "), between=" ")
    yield f"  estimate  {_basis(arrangement)}"
    if arrangement.settings.sharing != "auto" or arrangement.settings.steps_off:
        off = arrangement.settings.steps_off or "none"
        yield f"  settings  sharing = {arrangement.settings.sharing}, steps off: {off}"
    yield f"  legend    {_LEGEND}"


def _saving(arrangement: Arrangement) -> str:
    shared = f"{words.work(arrangement.seconds)} of a core per second of stream"
    if len(arrangement.queries) == 1:
        return shared
    times = arrangement.seconds_apart / arrangement.seconds
    apart = words.work(arrangement.seconds_apart)
    return f"{shared}; each query alone: {apart}, {times:.1f} times that"


def _woven_or_shared(arrangement: Arrangement) -> str:
    """Which of the two it is, and what the other would cost."""
    if arrangement.settings.sharing != "auto" or arrangement.settings.steps_off:
        return ""
    slides = {spec.slide_us for query in arrangement.queries for spec in specs_of(query)}
    if arrangement.is_parted:
        chosen, other = _PARTED[arrangement.is_woven], arrangement.seconds_together
    elif len(slides) > 1:
        chosen, other = _SHARED, arrangement.seconds_by_slide
    else:
        return ""
    more = round(100 * (other / arrangement.seconds - 1))
    by = f"{more} % more" if more >= 0 else f"{-more} % less"
    return f"{chosen} would cost {words.work(other)}, {by}"


_SHARED = (
    "shared: all windows of one GROUP BY use the same slices; slices of their own for each slide"
)
# By whether windows are kept apart, or only conditions.
_PARTED = {
    True: "woven: windows of one GROUP BY have slices of their own where that costs less; "
    "the same slices for all",
    False: "shared by conditions: of one GROUP BY, those that go together use the same slices; "
    "one synopsis for all",
}


def _basis(arrangement: Arrangement) -> str:
    sample = arrangement.costs.sample
    rate = f"{words.rows(sample.rows_per_second)} rows a second"
    if arrangement.has_measured_rate:
        rate = f"{rate} as measured"
    if arrangement.is_sampled:
        return f"from a sample of {sample.size:,} rows, {rate}"
    guessed = f"{GUESSED_VALUES} values for each key"
    if arrangement.has_measured_rate:
        return f"{rate}; guessed, as no sample was taken: {guessed}"
    return f"guessed, as no sample was taken: {rate}, {guessed}"


def _why(reasons: Sequence[SharingReason]) -> Iterator[str]:
    """Each rule once, with how many queries share by it and one of them."""
    by_rule: dict[str, list[SharingReason]] = {}
    for reason in reasons:
        by_rule.setdefault(reason.rule, []).append(reason)
    if by_rule:
        yield ""
        yield "why they share"
    for name in (name for name in SENTENCES if name in by_rule):
        count = words.many(len(by_rule[name]), "query")
        parts = [SENTENCES[name], f"({by_rule[name][0]})"]
        yield words.wrapped(f"  {name}  {count:<13}  ", parts, between=" ")
