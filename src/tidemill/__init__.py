"""Tidemill: many sliding-window SQL queries over shared streams, on Spark."""

from tidemill.engine import Engine
from tidemill.errors import TidemillError
from tidemill.plan.functions.user import aggregate
from tidemill.version import VERSION

__version__ = VERSION
__all__ = ["Engine", "TidemillError", "__version__", "aggregate"]
