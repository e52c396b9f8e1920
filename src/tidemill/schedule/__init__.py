"""Which query answers when: what happened goes in, what to answer comes out."""

from tidemill.schedule.due import Due, Run, Specs, due_windows, oldest_needed

__all__ = ["Due", "Run", "Specs", "due_windows", "oldest_needed"]
