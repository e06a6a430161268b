"""Every outcome has its words, wherever outcomes are told apart: a new one is named here until it has."""

import pytest

from turnwise.crowd.entry import worker_views
from turnwise.crowd.models import Outcome
from turnwise.crowd.panels import panel_views
from turnwise.monitoring import funnel


@pytest.mark.parametrize("outcome", Outcome)
def test_an_outcome_has_a_last_page_a_name_at_panels_and_a_reason_in_the_funnel(outcome: Outcome) -> None:
    assert outcome in worker_views._ENDS
    assert outcome in panel_views.OUTCOMES
    assert outcome in funnel._WHY or outcome == Outcome.COMPLETE
