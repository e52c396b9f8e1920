"""Queries with soft periods: what runs next, beside the ticks, and how that is told."""

from tidemill.engine.soft.agenda import Agenda, Once, Wanted
from tidemill.engine.soft.costs import JointCosts

__all__ = ["Agenda", "JointCosts", "Once", "Wanted"]
