"""Aggregates written by users, run on columns of states."""

from tidemill.aggregates.user.failing import take_told
from tidemill.aggregates.user.running import Running, running

__all__ = ["Running", "running", "take_told"]
