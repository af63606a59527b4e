"""Fixtures that every suite shares."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data (`EVENHAND_DATA`, or ../shared/data beside the checkout); skips where absent."""
    folder = Path(os.environ.get("EVENHAND_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"real data not found at {folder}: set EVENHAND_DATA")
    return folder
