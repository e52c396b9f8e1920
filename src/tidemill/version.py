"""The version: the package, `tidemill --version` and the wheel read it here."""

VERSION = "0.1.0"
