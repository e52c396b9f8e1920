"""Assembly: register, start, tick, recover, deliver."""

from tidemill.compiling import COMPILING
from tidemill.connect.generators.files import write_generated
from tidemill.connect.generators.register import FAMILIES
from tidemill.connect.sinks.cells import cell_texts
from tidemill.engine.engine import Engine
from tidemill.engine.mailbox import Attached
from tidemill.engine.query import Answers, Query
from tidemill.engine.run import RunReport
from tidemill.engine.tick.report import TickReport
from tidemill.explain.plan import window_clause
from tidemill.language.statements import CreateQuery
from tidemill.spark.on_demand import STARTING_SPARK
from tidemill.words import many

__all__ = [
    "COMPILING",
    "FAMILIES",
    "STARTING_SPARK",
    "Answers",
    "Attached",
    "CreateQuery",
    "Engine",
    "Query",
    "RunReport",
    "TickReport",
    "cell_texts",
    "many",
    "window_clause",
    "write_generated",
]
