"""Published data beside the checkout, where it is present; property tests without a clock."""

from pathlib import Path

import pytest
from hypothesis import settings

# A deadline per example would fail on a busy machine, and says nothing about the numbers.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


@pytest.fixture(scope="session")
def shared_folder() -> Path:
    folder = Path(__file__).parents[3] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent")
    return folder
