"""WHERE clauses as people who watch networks write them, and more of the same kind.

The fifty name protocols, ports and sets of ports, length thresholds and zones: single tests,
conjunctions of two or three, a few disjunctions. Some are equal to or contained in others, as
they are when several people write them.
"""

from __future__ import annotations

import random

from _rows import PORTLESS, PORTS, PROTOCOLS, ZONES

_WITH_PORTS = tuple(name for name in PROTOCOLS if name not in PORTLESS)

FIFTY = (
    # by protocol
    "proto = 'TCP'",
    "proto = 'UDP'",
    "proto = 'ICMP'",
    "proto <> 'TCP'",
    "proto IN ('GRE', 'ESP')",
    "proto IN ('TCP', 'UDP')",
    # by port
    "port = 443",
    "port = 80",
    "port = 53",
    "port = 22",
    "port = 25",
    "port = 3389",
    "port IN (80, 443)",
    "port IN (80, 443, 8080, 8443)",
    "port IN (25, 110, 143, 587, 993)",
    "port IN (3306, 5432, 1433, 1521, 27017)",
    "port IN (22, 23, 3389)",
    "port IN (389, 636, 88)",
    "port < 1024",
    "port >= 1024",
    # by length
    "length > 1400",
    "length >= 1000",
    "length < 64",
    "length BETWEEN 500 AND 1000",
    # by zone
    "zone = 'dmz-1'",
    "zone = 'core-1'",
    "zone IN ('dmz-1', 'dmz-2', 'dmz-3', 'dmz-4')",
    "zone IN ('edge-1', 'edge-2')",
    # two together
    "proto = 'TCP' AND port = 443",
    "proto = 'TCP' AND port = 80",
    "proto = 'TCP' AND port IN (80, 443)",
    "proto = 'UDP' AND port = 53",
    "proto = 'UDP' AND port = 443",
    "proto = 'UDP' AND port IN (123, 161, 514)",
    "proto = 'TCP' AND port = 22",
    "proto = 'TCP' AND length > 1400",
    "proto = 'UDP' AND length > 1000",
    "proto = 'ICMP' AND length > 1000",
    "port = 53 AND length > 512",
    "zone = 'dmz-1' AND port IN (80, 443)",
    "zone = 'core-1' AND proto = 'TCP'",
    "zone = 'lab-1' AND length > 1000",
    # three together
    "proto = 'TCP' AND port = 22 AND zone = 'dmz-1'",
    "proto = 'TCP' AND port IN (22, 3389) AND length < 100",
    "proto = 'TCP' AND port = 443 AND length > 1000",
    "zone = 'edge-1' AND proto = 'UDP' AND length > 1000",
    "zone = 'office-1' AND port IN (25, 587) AND length > 500",
    # one or the other
    "port = 23 OR port = 21",
    "proto = 'ICMP' OR port = 53",
    "length > 1450 OR proto = 'ESP'",
)


def predicates(count: int) -> tuple[str, ...]:
    """The first `count` different ones: the fifty, then conjunctions drawn from a seed."""
    dice = random.Random(50)
    texts = dict.fromkeys(FIFTY)
    while len(texts) < count:
        texts[_drawn(dice)] = None
    return tuple(texts)[:count]


def _drawn(dice: random.Random) -> str:
    """One to three tests, each of another column, so that no one denies another."""
    port = f"port = {dice.choice(PORTS)}"
    ports = f"port IN ({', '.join(map(str, sorted(dice.sample(PORTS, 3))))})"
    tests = (
        f"proto = '{dice.choice(_WITH_PORTS)}'",
        dice.choice((port, ports)),
        f"length {dice.choice('<>')} {dice.randrange(100, 1500, 50)}",
        f"zone = '{dice.choice(ZONES)}'",
    )
    return " AND ".join(dice.sample(tests, dice.choice((1, 2, 2, 3))))
