"""The figures of the engine's cost model, measured on the machine it runs on."""

from tidemill.calibrate.calibrate import calibrate_home, forget_home
from tidemill.calibrate.shown import machine_table

__all__ = ["calibrate_home", "forget_home", "machine_table"]
