"""The study of soft periods: workload, costs, a virtual clock, and what was measured."""
