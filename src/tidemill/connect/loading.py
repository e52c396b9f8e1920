"""The class behind a line of the register, imported when it is first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tidemill.catalog.addresses import Connector


def load_class(folder: str, connector: Connector) -> Any:
    """The class that `made_by` names, in a folder of this package.

    >>> from tidemill.catalog.addresses import SINKS
    >>> load_class("sinks", SINKS["discard"]).__name__
    'DiscardSink'
    """
    module, _, name = connector.made_by.partition(".")
    return getattr(import_module(f"tidemill.connect.{folder}.{module}"), name)
