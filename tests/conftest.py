"""Fixtures that every suite shares."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")  # a busy machine is no finding

ROOT = Path(__file__).resolve().parents[1]
SLOW_SECONDS = 3_600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow tests may take an hour, tests of large models ten minutes, unless they say so themselves."""
    for item in items:
        if item.get_closest_marker("timeout") is None:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.timeout(SLOW_SECONDS))
            elif item.get_closest_marker("torch"):
                item.add_marker(pytest.mark.timeout(600))


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data (`EVENHAND_DATA`, or ../shared/data beside the checkout); skips where absent."""
    folder = Path(os.environ.get("EVENHAND_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"real data not found at {folder}: set EVENHAND_DATA")
    return folder
