"""Text ⇒ frozen statements ⇒ canonical text.

>>> [statement] = parse_script("set sharing = auto;")
>>> render(statement)
"SET sharing = 'auto'"
"""

from tidemill.language.parser import parse_expression, parse_script
from tidemill.language.render import render

__all__ = ["parse_expression", "parse_script", "render"]
