"""How far time has come on a stream: watermarks and lateness."""

from tidemill.time.watermark import StreamTime

__all__ = ["StreamTime"]
