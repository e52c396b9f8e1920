"""The tuple engine of the papers on scheduling and timestamps, small and pure.

Queues between operators, rules for which operator runs next, registers, promises on demand and
the enhanced graph, on a virtual clock. It is what `tidemill bench timestamps` simulates with.
"""
