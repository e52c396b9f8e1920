"""The figures of the engine's cost model, measured on the machine it runs on."""

from tidemill.engine.calibrating.calibrate import calibrate_home, forget_home
from tidemill.engine.calibrating.shown import machine_table
from tidemill.engine.calibrating.store import load_machines

__all__ = ["calibrate_home", "forget_home", "load_machines", "machine_table"]
