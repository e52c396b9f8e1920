"""Assembly: register, start, tick, recover, deliver."""

from tidemill.engine.calibrating import calibrate_home, forget_home, machine_table
from tidemill.engine.engine import Engine
from tidemill.engine.mailbox import Attached
from tidemill.engine.packet_files import write_packets
from tidemill.engine.query import Answers, Query
from tidemill.engine.runs import RunReport
from tidemill.engine.sinks.cells import cell_texts
from tidemill.engine.surroundings import TickReport
from tidemill.language.statements import CreateQuery
from tidemill.plan.explain import window_text
from tidemill.share.explain_words import many

__all__ = [
    "Answers",
    "Attached",
    "CreateQuery",
    "Engine",
    "Query",
    "RunReport",
    "TickReport",
    "calibrate_home",
    "cell_texts",
    "forget_home",
    "machine_table",
    "many",
    "window_text",
    "write_packets",
]
