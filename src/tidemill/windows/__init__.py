"""Window specs, edges, slices and membership: arithmetic on whole microseconds, nothing else."""

from tidemill.windows.closing import closed_runs, closed_windows
from tidemill.windows.cuts import BEGINNING_US, END_US, Cut, Cuts
from tidemill.windows.edges import (
    EdgeClass,
    WindowSpec,
    edge_classes,
    edge_rate,
    edges_between,
    pane_origin,
    pane_us,
    pruned_classes,
    slice_end,
    slice_start,
    slice_starts,
)

__all__ = [
    "BEGINNING_US",
    "END_US",
    "Cut",
    "Cuts",
    "EdgeClass",
    "WindowSpec",
    "closed_runs",
    "closed_windows",
    "edge_classes",
    "edge_rate",
    "edges_between",
    "pane_origin",
    "pane_us",
    "pruned_classes",
    "slice_end",
    "slice_start",
    "slice_starts",
]
