"""Aggregates written by users, run on columns of states."""

from tidemill.aggregates.user.failing import give_back, take_told
from tidemill.aggregates.user.running import Running, running

__all__ = ["Running", "give_back", "running", "take_told"]
