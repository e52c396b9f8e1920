"""What joins of windows and changes of answers cost, as ratios.

    tidemill bench joins --json bench/results/joins.json
    tidemill bench joins --only one,thousand --rows 1000000

Two streams of so many rows each, over a thousand seconds of event time. Each row of the table is
two ways to do something, run in turn in one process: what is measured, and what it is measured by.
Told are the medians of the processor time of all processes, and how often one is the other,
beside how often it may be.
"""

from __future__ import annotations

from _joins import changes, rows, slices
from _ratios import run_table

if __name__ == "__main__":
    ratios = (*slices.RATIOS, *changes.RATIOS, *rows.RATIOS)
    run_table("tidemill bench joins", __doc__, ratios, rows=5_000_000)
