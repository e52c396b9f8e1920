"""The slice of a row in Catalyst."""

from __future__ import annotations

from tidemill.spark.admission import TIME
from tidemill.windows import EdgeClass, pane_origin, pane_us

# A row is compared with every class of edges; past this many a common pane is cheaper, and
# the fold cuts panes into slices.
MOST_CLASSES = 4


def slice_sql(classes: tuple[EdgeClass, ...]) -> str:
    """The start of the row's slice; of its pane when there are many classes of edges."""
    if len(classes) > MOST_CLASSES and _panes_pay(classes):
        return f"{TIME} - PMOD({TIME} - {pane_origin(classes)}L, {pane_us(classes)}L)"
    starts = [f"{TIME} - PMOD({TIME} - {c.offset_us}L, {c.period_us}L)" for c in classes]
    return starts[0] if len(starts) == 1 else f"GREATEST({', '.join(starts)})"


def _panes_pay(classes: tuple[EdgeClass, ...]) -> bool:
    """Panes are finer than slices; a few times more partial rows are still cheap."""
    edges_per_us = sum(1 / c.period_us for c in classes)
    return 1 / pane_us(classes) <= 8 * edges_per_us
