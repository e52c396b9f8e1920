"""The time that a stream has come to, watermarks and lateness, and how fast its rows come."""

from tidemill.time.rate import InputRate
from tidemill.time.watermark import StreamTime

__all__ = ["InputRate", "StreamTime"]
