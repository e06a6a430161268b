"""A rehearsal of a study of pairs through real pages and the real socket, against the injected effects."""

from typing import Any

import pytest

from tests.conftest import MakePairs, MakeStudy
from tests.planted import talked
from tests.rehearsals.conftest import rehearsed
from turnwise.judging.items import pairs
from turnwise.judging.items.pairs import PairSource
from turnwise.labels.models import Label
from turnwise.studies.models import Study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_same_database")]


def strengths(said: str) -> list[str]:
    return [line for line in said.splitlines() if "Strength of" in line]


def test_injected_preferences_of_three_systems_are_recovered(make_pairs: MakePairs) -> None:
    study = make_pairs(40, ("Alpha", "Beta", "Gamma"), raters=5, batch=30)

    said = rehearsed(study, "--workers", "40")

    # three pairs of systems with labels, three tables of three shares each; alpha, raters, three strengths
    assert "The report recovers the injected effects: 35 of 35 findings hold." in said, said
    assert len(strengths(said)) == 3
    assert all(line.endswith(": inside.") for line in strengths(said))
    assert (study.rehearsal.state, study.state) == ("closed", "open")
    assert not Label.objects.filter(study=study).exists()
    swapped = study.rehearsal.items.filter(slots__label__isnull=False).values_list("slots__is_swapped")
    assert {each for (each,) in swapped} == {True, False}


@pytest.fixture
def talks(make_study: MakeStudy) -> Study:
    study: Study = make_study({"ann": 100, "bob": 100}, min_turns=2, max_turns=8)
    for number in range(60):
        talked(study, [(True, True)], text=f"Number {number}")
    return study


def test_injected_preferences_of_conversations_in_four_respects_are_recovered(
    make_pairs: MakePairs, talks: Study
) -> None:
    study = make_pairs(raters=5, batch=20, question_set="preferences")
    pairs.add(study, PairSource.of_conversations([talks], language="en"))

    said: Any = rehearsed(study, "--workers", "20")

    assert "findings hold." in said, said
    assert "OUTSIDE" not in said
    assert len(strengths(said)) == 8
