"""What the tests share: the papers' data, hypothesis profiles, one run for each instruction set."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from kesler import _core

os.environ.setdefault("MPLBACKEND", "Agg")

# "ci" tries the same examples every time; "explore" looks for new ones. Neither has a deadline:
# the machine may be busy, or run the tests under sanitizers.
settings.register_profile(
    "ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the papers' data."""
    folder = os.environ.get("KESLER_DATA")
    if not folder:
        pytest.skip("KESLER_DATA is not set: the papers' data are not at hand")
    if not Path(folder).is_dir():
        pytest.fail(f"KESLER_DATA names no folder: {folder}")
    return Path(folder)


@pytest.fixture(params=_core.available_isas())
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test once for each instruction set the machine has, with the kernels of that set."""
    before = _core.isa()
    _core.use_isa(request.param)
    yield request.param
    _core.use_isa(before)
