"""Windows with a soft period: what they need to know of the stream that they cut."""

from __future__ import annotations

from dataclasses import replace

from tidemill.catalog import Stream
from tidemill.errors import refuse
from tidemill.language.durations import render_duration
from tidemill.language.statements import Select


def with_updates(select: Select, stream: Stream) -> Select:
    """Soft windows end where the stream's updates are; strict ones are left as they are."""
    window, update_us = select.window, stream.update_us
    if not window.is_soft:
        return select
    if 0 < window.slide_us < update_us:
        refuse(
            "E_WINDOW",
            f"SLIDE UP TO {render_duration(window.slide_us)} is less than the time between two "
            f"updates of stream {stream.name}, {render_duration(update_us)}",
            hint="allow a longer period, or declare the stream WITH (update = '…')",
            place=window.place,
        )
    return replace(select, window=replace(window, update_us=update_us))
