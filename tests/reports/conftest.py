import pytest

from tests.planted import with_report_of_two
from turnwise.studies.models import Study


@pytest.fixture
def reported(short: Study) -> Study:
    """A study with a report of four replies: three are sensible, two specific."""
    return with_report_of_two(short)
