"""Which query answers when: what happened goes in, what to answer comes out."""

from tidemill.schedule.deadlines import Deadlines, Joint
from tidemill.schedule.due import Due, Run, Specs, due_windows, oldest_needed
from tidemill.schedule.history import History
from tidemill.schedule.policies import POLICIES, Policy, tasks_of
from tidemill.schedule.ruler import DRAWN, ruler
from tidemill.schedule.shares import Shares
from tidemill.schedule.soft import JointCost, Soft, Task

__all__ = [
    "DRAWN",
    "POLICIES",
    "Deadlines",
    "Due",
    "History",
    "Joint",
    "JointCost",
    "Policy",
    "Run",
    "Shares",
    "Soft",
    "Specs",
    "Task",
    "due_windows",
    "oldest_needed",
    "ruler",
    "tasks_of",
]
