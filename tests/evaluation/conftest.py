"""Published data beside the checkout, where it is present."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_folder() -> Path:
    folder = Path(__file__).parents[3] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent")
    return folder
