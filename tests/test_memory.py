from __future__ import annotations

import resource
import sys

import numpy as np
import pytest

from tidemill.memory import keep_freed_memory

PAGES = 1 << 13
BYTES = PAGES * 4096


@pytest.mark.skipif(sys.platform != "linux", reason="asks glibc")
def test_what_an_array_gave_back_the_next_one_gets_without_the_system() -> None:
    assert keep_freed_memory()
    np.ones(BYTES, np.uint8)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    assert np.ones(BYTES, np.uint8).all()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < PAGES // 4
