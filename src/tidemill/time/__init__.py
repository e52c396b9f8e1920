"""How far time has come on a stream, watermarks and lateness, and how fast its rows come."""

from tidemill.time.rate import InputRate
from tidemill.time.watermark import StreamTime

__all__ = ["InputRate", "StreamTime"]
