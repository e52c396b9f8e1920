"""What every test may use: one Spark for the whole run, and examples that do not change."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Derandomised, so that a run that passed passes again; no deadline, since two cores are shared.
settings.register_profile("ci", derandomize=True, deadline=None, database=None, print_blob=True)
settings.load_profile("ci")

# A test is over before Java's second compiler has paid for itself: a third of the time it takes
# is that compiler's. Processes that tests start have it too.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-goldens", action="store_true", help="rewrite golden files in place of comparing"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def update_goldens(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--update-goldens"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Tests without the fixture run beside those that have it, and do not start a second Spark."""
    with pytest.MonkeyPatch.context() as patch:
        if "spark" not in getattr(item, "fixturenames", ()):
            patch.setattr("tidemill.spark.session._build", _refuse_to_start)
        return (yield)


def _refuse_to_start(master: str, app: str) -> NoReturn:
    raise AssertionError("a test that starts Spark asks for the fixture `spark`")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    # Imported here: a run without Spark tests starts no JVM and loads no pyspark.
    from tidemill.spark.session import start_session

    session = start_session(master="local[2]", app="tests")
    yield session
    session.stop()
