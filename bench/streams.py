"""What streams over streams, rows without windows, and lateness by arrival cost, as ratios.

    tidemill bench streams --json bench/results/streams.json
    tidemill bench streams --only derived,replay --rows 1000000

Each row of the table is two ways to do something, run in turn in one process: what is measured,
and what it is measured by. Told are the medians of the processor time of all processes, that of
Spark among them, and how often one is the other, beside how often it may be.
"""

from __future__ import annotations

from _ratios import run_table
from _streams import arrivals, computed, corrections, derived, handed, replay, selections, unions

PARTS = (derived, unions, computed, handed, selections, arrivals, corrections, replay)
RATIOS = tuple(ratio for part in PARTS for ratio in part.RATIOS)

if __name__ == "__main__":
    run_table("tidemill bench streams", __doc__, RATIOS, rows=10_000_000)
