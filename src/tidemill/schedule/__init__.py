"""Which query answers when: what happened goes in, what to answer comes out."""

from tidemill.schedule.due import Due, due_windows, oldest_needed

__all__ = ["Due", "due_windows", "oldest_needed"]
