"""Queries with soft periods: what runs next, beside the ticks, and how that is told."""

from tidemill.engine.beside.agenda import Agenda, Once, Wanted
from tidemill.engine.beside.costs import JointCosts

__all__ = ["Agenda", "JointCosts", "Once", "Wanted"]
