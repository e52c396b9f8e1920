"""Step 2: partial aggregates in Catalyst, in one pass over the rows for one feed or several.

Every row gets a verdict. Late, malformed and filtered rows are not dropped but grouped
by their verdict too, so the tick's accounts come out of the same aggregation as its
partials: exact, whatever Spark retries.

The frame is made from one SQL text: analysing it once takes a third of the time of
building it from columns, and that is most of what a small tick costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import zip_longest
from operator import or_
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from tidemill.ids import fingerprint
from tidemill.plan.predicates import WORD_BITS, signature_sql
from tidemill.plan.relation import Relation
from tidemill.scan.contract import (
    BREAKING,
    CORRECTING,
    COUNTED,
    FILTERED,
    LATE,
    MALFORMED,
    Admission,
    Pass,
    own_bits,
)
from tidemill.spark.catalyst.admission import (
    ARRIVAL,
    TIME,
    broken_sql,
    correcting_sql,
    late_sql,
    malformed_sql,
    timed_items,
)
from tidemill.spark.catalyst.joins import RELATION, Tables, with_tables
from tidemill.spark.catalyst.signature import with_lookups
from tidemill.spark.catalyst.slices import slice_sql, wants_lookup, with_slices
from tidemill.spark.catalyst.values import guarded_columns, raised_column, read_value, value_items
from tidemill.state.feed import Feed, Scan, merge_scans
from tidemill.state.pieces import SLICE
from tidemill.windows import EdgeClass

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VERDICT, OLDEST, NEWEST, SET = "_verdict", "_oldest", "_newest", "_set"
# Of the 64 bits of Spark's GROUPING_ID all but the sign.
_MOST_GROUP_COLUMNS = 63


def partials(rows: DataFrame, one_pass: CatalystPass, tables: Tables) -> DataFrame:
    """One partial row per (verdict, slice, keys, signature) of the rows, for each of the feeds.

    They are made by the session of the rows, whichever that is: a view is known to it alone.
    """
    admission, looked_up = one_pass.admission, False
    if one_pass.looks_up_slices:
        timed = rows.selectExpr("*", *timed_items(admission))
        sliced = with_slices(timed, one_pass.classes, admission)
        looked_up = sliced is not None
        rows = rows if sliced is None else sliced.drop(TIME)
    signed = signed_rows(rows, one_pass.scan, admission, one_pass.name, tables, one_pass.relations)
    return rows.sparkSession.sql(one_pass.sql(signed, looked_up))


@dataclass(frozen=True)
class CatalystPass(Pass):
    """A pass over a tick's rows: ⇒ timed ⇒ joined ⇒ with values ⇒ signed ⇒ judged ⇒ grouped.

    Several feeds of one relation are the grouping sets of one aggregation, told apart by `_set`.
    If they are of several relations, a row comes once for each feed of its own relation, marked
    by `_set` too.
    """

    name: str
    admission: Admission
    own_scans: tuple[Scan, ...]  # of each feed; `scan` does what all of them do

    @cached_property
    def classes(self) -> tuple[EdgeClass, ...]:
        return self.edge_classes(self.admission.terms.accepted_since_us)

    @cached_property
    def relations(self) -> tuple[Relation, ...]:
        """The relations whose rows are aggregated."""
        return tuple(dict.fromkeys(feed.relation for feed in self.feeds))

    @property
    def counting_feed(self) -> int | None:
        """The place of a feed that meets every row of the stream once; None if there is none."""
        places = (n for n, feed in enumerate(self.feeds) if not feed.relation.multiplies)
        return next(places, None)

    @property
    def looks_up_slices(self) -> bool:
        """True if the rows' times are read once before the pass."""
        return not self.admission.stream.stamped_on_arrival and wants_lookup(self.classes)

    def sql(self, signed: str, looked_up: bool = False) -> str:
        """The whole pass as one text, inside out, over rows that are timed and signed."""
        judged = f"SELECT *, {self._verdict()} AS {VERDICT} FROM ({signed})"
        keyed = f"SELECT *, {', '.join(self._keys(looked_up))} FROM ({judged})"
        if len(self.relations) > 1:
            keyed = f"SELECT *, EXPLODE({self._sets_by_relation()}) AS {SET} FROM ({keyed})"
        return f"SELECT {', '.join(self._selected())} FROM ({keyed}) GROUP BY {self._sets()}"

    @cached_property
    def places_by_relation(self) -> tuple[tuple[int, ...], ...]:
        """The places of the feeds of each relation."""
        return tuple(
            tuple(n for n, feed in enumerate(self.feeds) if feed.relation == relation)
            for relation in self.relations
        )

    def _passes(self) -> str:
        """SQL that holds for a row that some feed of its relation keeps."""
        kept_sql = [self._passes_of(places) for places in self.places_by_relation]
        if len(set(kept_sql)) == 1:
            return kept_sql[0]
        return (
            f"CASE {RELATION} {' '.join(f'WHEN {n} THEN {k}' for n, k in enumerate(kept_sql))} END"
        )

    def _passes_of(self, places: Sequence[int]) -> str:
        feeds = [self.feeds[place] for place in places]
        if any(feed.keeps_all for feed in feeds):
            return "TRUE"
        masks = (reduce(or_, part) for part in zip_longest(*map(own_bits, feeds), fillvalue=0))
        if len(self.relations) == 1:
            words = list(word_columns(self.scan))
        else:
            words = [f"({w} & {m}L)" for w, m in zip(word_columns(self.scan), masks, strict=False)]
        return f"({' | '.join(words)}) <> 0L" if words else "FALSE"

    def _verdict(self) -> str:
        cases = [f"WHEN {malformed_sql(self.admission)} THEN {MALFORMED}"]
        cases.append(f"WHEN {late_sql(self.admission)} THEN {self._untimely(LATE)}")
        if (passes := self._passes()) != "TRUE":
            cases.append(f"WHEN NOT ({passes}) THEN {self._accepted(FILTERED)}")
        return f"CASE {' '.join(cases)} ELSE {self._accepted(COUNTED)} END"

    def _accepted(self, verdict: int) -> str:
        """The verdict on a row that is not late, or that on one that corrects."""
        correcting = correcting_sql(self.admission)
        if not correcting:
            return str(verdict)
        return f"IF({correcting}, {self._untimely(CORRECTING[verdict])}, {verdict})"

    def _untimely(self, verdict: int) -> str:
        """The verdict on a row that is late or corrects, also where it breaks a promise."""
        broken = broken_sql(self.admission)
        return str(verdict) if broken is None else f"IF({broken}, {BREAKING[verdict]}, {verdict})"

    def _keys(self, looked_up: bool) -> Iterator[str]:
        """The items to group by. Rows that no feed keeps are one group, for the accounts."""
        items = {SLICE: slice_sql(self.classes, looked_up) if self.classes else "0L"}
        for place, scalar in enumerate(self.scan.keys):
            items[f"_f{place}"] = read_value(self.scan.scalars, scalar)
        for place, scalar in enumerate(self.scan.values):
            items[f"_by{place}"] = read_value(self.scan.scalars, scalar)
        for number, feed in enumerate(self.feeds):
            items |= dict(self._words(number, feed))
        passes = self._passes()
        # A slice of an arrival may be judged as a whole where all of it cannot.
        always = SLICE if self.admission.judges_later else ""
        for name, sql in items.items():
            is_open = passes == "TRUE" or name == always
            yield f"{sql} AS {name}" if is_open else f"IF({passes}, {sql}, NULL) AS {name}"

    def _words(self, number: int, feed: Feed) -> Iterator[tuple[str, str]]:
        """The names and SQL of a feed's words; alone in its pass it takes those of the scan."""
        for word, mask in enumerate(own_bits(feed)):
            if len(self.feeds) == 1:
                yield feed.signature_columns[word], f"_v{word}"
            else:
                yield f"_s{number}_{word}", f"_v{word} & {mask}L"

    def _set(self, number: int) -> tuple[str, ...]:
        """The columns that one feed is grouped by."""
        feed = self.feeds[number]
        values = (f"_by{place}" for place in range(len(self.scan.values)))
        words = (name for name, _ in self._words(number, feed))
        arrival = (ARRIVAL,) if self.admission.judges_later else ()
        return (VERDICT, *arrival, SLICE, *feed.key_columns, *values, *words)

    @cached_property
    def _group_columns(self) -> dict[str, str]:
        """All of them, and the SQL that they are grouped by."""
        sets = [self._set(number) for number in range(len(self.feeds))]
        names = dict.fromkeys(name for columns in sets for name in columns)
        if len(self.relations) == 1:
            return {name: name for name in names}
        numbers = {name: [n for n, columns in enumerate(sets) if name in columns] for name in names}
        return {SET: SET, **{name: self._only_in(numbers[name], name) for name in names}}

    def _only_in(self, numbers: Sequence[int], name: str) -> str:
        if len(numbers) == len(self.feeds):
            return name
        return f"IF({SET} IN ({', '.join(map(str, numbers))}), {name}, NULL)"

    def _sets(self) -> str:
        sets = [", ".join(self._set(number)) for number in range(len(self.feeds))]
        if len(sets) == 1 or len(self.relations) > 1:
            return ", ".join(self._group_columns.values())
        # Feeds that are grouped alike read the same rows; a set given twice would give them twice.
        return f"GROUPING SETS ({', '.join(f'({columns})' for columns in dict.fromkeys(sets))})"

    def _sets_by_relation(self) -> str:
        """The numbers of the feeds that a row goes to, as an array."""
        arrays = (f"ARRAY({', '.join(map(str, places))})" for places in self.places_by_relation)
        return f"ARRAY({', '.join(arrays)})[{RELATION}]"

    def _selected(self) -> Iterator[str]:
        yield from (f"{sql} AS {name}" for name, sql in self._group_columns.items())
        if len(self.feeds) > 1 and len(self.relations) == 1:
            yield f"GROUPING_ID({', '.join(self._group_columns)}) AS {SET}"
        yield f"MIN({TIME}) AS {OLDEST}"
        yield f"MAX({TIME}) AS {NEWEST}"
        for number, lane in enumerate(self.scan.lanes):
            values = [read_value(self.scan.scalars, scalar) for scalar in lane.arguments]
            lifted = zip(lane.lift_sql(values, TIME), self.scan.lane_columns(number), strict=True)
            yield from (f"{sql} AS {name}" for sql, name in lifted)
        for number, scalar in enumerate(self.scan.scalars):
            if scalar.may_raise:
                yield f"COUNT_IF({raised_column(number)}) AS {raised_column(number)}"

    def _set_id(self, number: int) -> int:
        """The value of `_set` in the rows of one feed."""
        if len(self.relations) > 1:
            return number
        columns = self._set(number)
        absent = [n for n, name in enumerate(reversed(self._group_columns)) if name not in columns]
        return sum(1 << place for place in absent)

    def feed_rows(self, number: int, rows: pa.Table) -> pa.Table:
        """The partial rows of one feed, under the names that the feed gives them."""
        if len(self.feeds) == 1:
            return rows
        feed = self.feeds[number]
        partials = rows.filter(pc.equal(rows.column(SET), self._set_id(number)))
        names = {f"_s{number}_{name[2:]}": name for name in feed.signature_columns}
        return partials.rename_columns([names.get(name, name) for name in partials.column_names])


def word_columns(scan: Scan) -> tuple[str, ...]:
    """The words of a row's signature, one bit for each predicate that holds."""
    return tuple(f"_v{word}" for word in range(-(-len(scan.predicates) // WORD_BITS)))


def signed_rows(
    rows: DataFrame,
    scan: Scan,
    admission: Admission,
    name: str,
    tables: Tables | None = None,
    relations: Sequence[Relation] = (),
) -> str:
    """SQL for the rows with their time, every value that the scan needs, and their signature.

    Tables, and what SQL cannot say, lookups and guards, are put into the rows behind the view.
    """
    session, view = rows.sparkSession, f"_tidemill_{name}"
    bits = dict(enumerate(scan.predicates))
    signature = signature_sql(bits, lambda scalar: read_value(scan.scalars, scalar))
    compared = [before for join in scan.relation.joins for before in join.befores]
    rest = [scalar for scalar in scan.scalars if scalar not in compared]
    guarded = guarded_columns(session, scan.scalars, rest)
    items = timed_items(admission)
    if guarded or signature.lookups or scan.relation.joins:
        # All of them may read the arrival stamp, so the rows are timed first.
        rows = rows.selectExpr("*", *items)
        rows = with_tables(rows, scan, tables, relations) if tables else rows
        rows = with_lookups(rows, signature.lookups).withColumns(guarded)
        items = ()
    rows.createOrReplaceTempView(view)
    words = [
        f"{sql} AS {word}" for sql, word in zip(signature.words, word_columns(scan), strict=True)
    ]
    signed = view
    for level in (items, value_items(scan.scalars), words):
        signed = f"(SELECT {', '.join(['*', *level])} FROM {signed})" if level else signed
    return f"SELECT * FROM {signed}"


def catalyst_passes(feeds: Sequence[Feed], admission: Admission) -> tuple[CatalystPass, ...]:
    """The passes of these feeds, each cut into as many as Spark tells grouping sets apart in."""
    name = fingerprint([str(admission.stream.key)])
    runs = (run for together in _by_pass(feeds) for run in _runs(together))
    return tuple(_pass_of(run, f"{name}_{number}", admission) for number, run in enumerate(runs))


def _pass_of(feeds: Sequence[Feed], name: str, admission: Admission) -> CatalystPass:
    own_scans = tuple(feed.scan for feed in feeds)
    scan = merge_scans(own_scans)
    return CatalystPass(tuple(feed.over(scan) for feed in feeds), name, admission, own_scans)


def _by_pass(feeds: Sequence[Feed]) -> Iterator[Sequence[Feed]]:
    by_pass: dict[int, list[Feed]] = {}
    for feed in feeds:
        by_pass.setdefault(feed.pass_number, []).append(feed)
    return iter(by_pass.values())


def _runs(feeds: Sequence[Feed]) -> Iterator[tuple[Feed, ...]]:
    """Runs of feeds that are grouped by no more columns than an id has bits.

    Feeds of several relations need no id.
    """
    if len({feed.relation for feed in feeds}) > 1:
        yield tuple(feeds)
        return
    run: list[Feed] = []
    for feed in feeds:
        if run and _group_columns([*run, feed]) > _MOST_GROUP_COLUMNS:
            yield tuple(run)
            run = []
        run.append(feed)
    yield tuple(run)


def _group_columns(feeds: Sequence[Feed]) -> int:
    """Verdict, arrival, slice, everybody's keys, and each feed's own words."""
    keys = {name for feed in feeds for name in feed.key_columns}
    values = len(feeds[0].scan.values)
    return 3 + len(keys) + values + sum(len(feed.signature_columns) for feed in feeds)
