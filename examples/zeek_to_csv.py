"""Logs of Zeek as the CSV files that joins.sql reads: python zeek_to_csv.py LOGS data/zeek

LOGS has dns.log.gz and weird.log.gz, tab-separated as Zeek writes them. Rows keep their order.
"""

from __future__ import annotations

import csv
import gzip
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

COLUMNS = {
    "dns": {"ts": "ts", "id.orig_h": "client", "query": "query", "rcode": "rcode"},
    "weird": {"ts": "ts", "id.orig_h": "host", "name": "name"},
}


def rows_of(log: Path) -> Iterator[dict[str, str]]:
    """The rows of a log by the names of its fields; what is not set is empty."""
    with gzip.open(log, "rt", encoding="utf-8", errors="replace") as lines:
        names: list[str] = []
        for line in lines:
            fields = line.rstrip("\n").split("\t")
            if fields[0] == "#fields":
                names = fields[1:]
            elif not line.startswith("#"):
                values = ("" if field == "-" else field for field in fields)
                yield dict(zip(names, values, strict=True))


def as_timestamp(seconds: str) -> str:
    whole, _, part = seconds.partition(".")
    micros = int(part.ljust(6, "0")[:6])
    time = datetime.fromtimestamp(int(whole), UTC).replace(microsecond=micros)
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def main() -> None:
    logs, folder = Path(sys.argv[1]), Path(sys.argv[2])
    for name, columns in COLUMNS.items():
        target = folder / name / "log.csv"
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns.values())
            for row in rows_of(logs / f"{name}.log.gz"):
                values = [row[field] for field in columns]
                writer.writerow([as_timestamp(values[0]), *values[1:]])


if __name__ == "__main__":
    main()
