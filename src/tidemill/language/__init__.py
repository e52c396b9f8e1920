"""Text ⇒ frozen statements ⇒ canonical text.

>>> [statement] = parse_script("set sharing = auto;")
>>> render(statement)
"SET sharing = 'auto'"
"""

from tidemill.language.durations import parse_duration, render_duration
from tidemill.language.parser import parse_expression, parse_script
from tidemill.language.render import render

__all__ = ["parse_duration", "parse_expression", "parse_script", "render", "render_duration"]
