from __future__ import annotations

import builtins
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crossed import left_to_other_parts, left_to_the_slow
from evidence import Evidence
from examples import share
from incrowd.core.io.shuffle import RandomOrder
from open_points import let_open_points_pass, refused_as_for_users
from random_order import rows_in_random_order
from sums import watched_sum

settings.register_profile(
    "incrowd",
    deadline=None,
    max_examples=share(30),
    suppress_health_check=[HealthCheck.too_slow],
    # A continuous-integration run answers for one commit, so it draws the same examples; others explore.
    derandomize=os.environ.get("INCROWD_FIXED_EXAMPLES") == "1",
)
settings.load_profile("incrowd")

# What is imported and collected stays, so looking for garbage among it is in vain; `pytest_collection_finish`
# switches the collector on again.
gc.disable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log):
    """``--dist loadfile`` shares the files out, and keeps Spark in a single process."""
    if config.getoption("dist") != "loadfile":
        return None
    from distribution import FilesAndSpark

    return FilesAndSpark(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests of several seconds, in a browser or on Spark as slow, and cases beyond a ``few``.

    A run with ``INCROWD_PART=2/5`` leaves the tests of the other parts out.
    """
    for item in items:
        _, _, parameters = item.name.lower().partition("[")
        if "spark" in parameters or {"browser", "spark"} & {*getattr(item, "fixturenames", ())}:
            item.add_marker("slow")
    for item in left_to_the_slow(items):
        item.add_marker("slow")
    # Tests that start tests of their own need all of those.
    if part := os.environ.pop("INCROWD_PART", ""):
        left_out = left_to_other_parts(items, part)
        config.hook.pytest_deselected(items=left_out)
        names = {item.nodeid for item in left_out}
        items[:] = [item for item in items if item.nodeid not in names]


def pytest_collection_finish() -> None:
    """Spare the garbage collector all objects from before the first test, which stay until the last."""
    # Hypothesis asks the collector who holds its generator when the first example runs. Under Python 3.14 the
    # only holder is among what is spared, which the collector does not list, and that is a warning.
    given(st.none())(lambda _: None)()
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 50)


def pytest_sessionfinish() -> None:
    """Look for garbage once: pytest does so five times at the end, for warnings of what is lost."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True, trylast=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Name a test at its failure: the summary of a stopped run never comes."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\n{report.nodeid} failed in its {report.when}", file=sys.__stderr__, flush=True)


def pytest_configure() -> None:
    """Give every row the number of its position, so that released rows can be compared with raw rows.

    Tests of the random order itself are marked ``random_order``. Sums of floats are watched. A release with open
    points is made, as with ``unanswered="write"``: most tests are about something else. Tests of what users get
    are marked ``gated``.
    """
    builtins.sum = watched_sum
    let_open_points_pass()
    RandomOrder.numbers = lambda _, start, stop: np.arange(start, stop, dtype=np.uint64)  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def _random_order(request: pytest.FixtureRequest) -> Iterator[None]:
    with rows_in_random_order() if "random_order" in request.keywords else nullcontext():
        yield


@pytest.fixture(autouse=True)
def _open_points(request: pytest.FixtureRequest) -> Iterator[None]:
    if "gated" in request.keywords:
        yield from refused_as_for_users()
    else:
        yield


@pytest.fixture(scope="session")
def spark():
    """One Spark session for all tests with Spark."""
    from spark_session import PLAIN, local_session, require_spark

    require_spark()
    session = local_session(**PLAIN)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real tables beside the project, never part of the repository, so a clone without tables skips."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the folder of real test data is not beside the project")
    return folder


@pytest.fixture
def evidence(request: pytest.FixtureRequest) -> Iterator[Evidence]:
    """What compares published figures with ours, each of which has a list item in docs/evidence.md."""
    place = request.path.relative_to(Path(__file__).parent).as_posix()
    held = Evidence(f"{place}::{request.node.name}")
    yield held
    held.finish()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a real PostgreSQL server that is started for the tests and stopped afterwards."""
    from postgres_server import running_server

    with running_server() as url:
        yield url
