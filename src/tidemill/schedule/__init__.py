"""Decides which query answers when: events go in, windows to answer come out."""

from tidemill.schedule.deadlines import Deadlines, Joint
from tidemill.schedule.due import (
    Due,
    Specs,
    WindowRun,
    all_windows,
    due_windows,
    early_windows,
    last_instant,
    next_instant,
    oldest_needed,
    parts_of_due,
)
from tidemill.schedule.history import History
from tidemill.schedule.policies import POLICIES, Policy, policy_tasks
from tidemill.schedule.revisions import NO_REVISIONS, Bounds, LastAnswer, Revisions
from tidemill.schedule.shares import Shares
from tidemill.schedule.soft import JointCost, Soft, Task
from tidemill.schedule.waiting import NextWindow, first_open, next_windows

__all__ = [
    "NO_REVISIONS",
    "POLICIES",
    "Bounds",
    "Deadlines",
    "Due",
    "History",
    "Joint",
    "JointCost",
    "LastAnswer",
    "NextWindow",
    "Policy",
    "Revisions",
    "Shares",
    "Soft",
    "Specs",
    "Task",
    "WindowRun",
    "all_windows",
    "due_windows",
    "early_windows",
    "first_open",
    "last_instant",
    "next_instant",
    "next_windows",
    "oldest_needed",
    "parts_of_due",
    "policy_tasks",
]
