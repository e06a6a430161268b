"""A rehearsal of a study that asks a researcher's set: the injected effects come out."""

import pytest

from tests.conftest import MakeStudy
from tests.planted import figures
from tests.questions.conftest import TONE
from tests.rehearsals.conftest import rehearsed
from turnwise.accounts.models import User
from turnwise.questions.services import create_set


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_same_database")
def test_a_rehearsal_recovers_what_was_planted_of_an_own_set(make_study: MakeStudy, rex: User) -> None:
    create_set(TONE, owner=rex)
    study = make_study({"scripty": 3, "another": 3}, min_turns=4, max_turns=8, question_set="tone-v1")

    said = rehearsed(study, "--workers", "40")

    result = figures(study.rehearsal.reports.first())
    assert result["question_set"] == "tone-v1"
    assert [each["key"] for each in result["columns"]] == ["polite", "warmth"]
    assert "The report recovers the injected effects" in said, said
