"""The time that a stream has come to, watermarks and lateness, and how fast its rows come."""

from tidemill.time.arrivals import bounds
from tidemill.time.promises import Promise, Word, promise, skew_us
from tidemill.time.rate import InputRate
from tidemill.time.registers import EARLIEST_US, LATEST_US, Register

__all__ = [
    "EARLIEST_US",
    "LATEST_US",
    "InputRate",
    "Promise",
    "Register",
    "Word",
    "bounds",
    "promise",
    "skew_us",
]
