"""The slice of a row in Catalyst.

Any finer cut of time will do, since the fold cuts what it gets into slices. So a row is
compared with each of a few classes of edges; falls into a common pane of many; or, where such
panes would be too fine, is looked up among all edges of the tick's span, in code that is small
and stays the same whatever the windows are (two million rows: 1.0 s for 127 classes and 0.8 s
for 255, against 6 s for 127 comparisons, and 29 s the first time, when Java compiles them).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidemill.scan.contract import Admission
from tidemill.spark.catalyst.admission import TIME
from tidemill.spark.catalyst.constants import Jvm
from tidemill.types import BIGINT
from tidemill.windows import (
    EdgeClass,
    edges_between,
    pane_origin,
    pane_us,
    slice_end,
    slice_start,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Past this many comparisons a common pane is cheaper, and the fold cuts panes into slices.
MOST_CLASSES = 4
# Past this many they take longer than asking first for the span of the tick's times.
MOST_COMPARED = 16
# Edges of a tick in the array that is searched: 2 MiB that go along with every task.
MOST_EDGES = 2**18
_PLACE, _FOUND = "_edge_place", "_edge"


def slice_sql(classes: tuple[EdgeClass, ...], looked_up: bool = False) -> str:
    """The start of the row's slice, or of a finer one when there are many classes of edges."""
    if looked_up:
        return _FOUND
    if len(classes) > MOST_CLASSES and _panes_pay(classes):
        return f"{TIME} - PMOD({TIME} - {pane_origin(classes)}L, {pane_us(classes)}L)"
    starts = [f"{TIME} - PMOD({TIME} - {c.offset_us}L, {c.period_us}L)" for c in classes]
    return starts[0] if len(starts) == 1 else f"GREATEST({', '.join(starts)})"


def wants_lookup(classes: tuple[EdgeClass, ...]) -> bool:
    """True if there are too many classes to compare with, and panes do not pay."""
    return len(classes) > MOST_COMPARED and not _panes_pay(classes)


def with_slices(
    rows: DataFrame, classes: tuple[EdgeClass, ...], admission: Admission
) -> DataFrame | None:
    """The timed rows with the start of their slice; None if the edges are too many to list.

    Rows before the span are late: nobody keeps them, and each is a slice by itself.
    """
    from pyspark.sql import functions as F

    since = F.lit(admission.terms.accepted_since_us)
    ends = rows.where(F.col(TIME) >= since).agg(F.min(TIME), F.max(TIME)).first()
    low_us, high_us = ends if ends is not None and ends[0] is not None else (0, 0)
    first_us, last_us = slice_start(low_us, classes), slice_end(high_us, classes)
    if sum((last_us - first_us) // c.period_us + 1 for c in classes) > MOST_EDGES:
        return None
    edges = edges_between(classes, first_us, last_us).tolist()
    jvm = Jvm(rows.sparkSession)
    place = F.col(_PLACE)
    searched = rows.withColumn(_PLACE, jvm.search(BIGINT, edges, F.col(TIME)))
    # Where nothing is equal, Java tells the place of the next greater edge, less one, negated.
    before = F.when(place < 0, -place - F.lit(2)).otherwise(place)
    edge = F.when(place == -1, F.col(TIME)).otherwise(jvm.table(edges)[before])
    return searched.withColumn(_FOUND, edge)


def _panes_pay(classes: tuple[EdgeClass, ...]) -> bool:
    """Panes are finer than slices; a few times more partial rows are still cheap."""
    edges_per_us = sum(1 / c.period_us for c in classes)
    return 1 / pane_us(classes) <= 8 * edges_per_us
