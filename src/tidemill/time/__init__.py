"""The time that a stream has come to: watermarks and lateness."""

from tidemill.time.watermark import StreamTime

__all__ = ["StreamTime"]
