"""Tidemill: many sliding-window SQL queries over shared streams, on Spark."""

from tidemill.engine import Engine
from tidemill.errors import TidemillError
from tidemill.plan.functions.user import aggregate

__version__ = "0.1.0"
__all__ = ["Engine", "TidemillError", "__version__", "aggregate"]
