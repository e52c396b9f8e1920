"""Aggregates written by users, run on columns of states."""

from tidemill.aggregates.user.failing import give_back, take_told
from tidemill.aggregates.user.running import UserAggregate, user_aggregate

__all__ = ["UserAggregate", "give_back", "take_told", "user_aggregate"]
