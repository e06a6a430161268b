"""Rehearsal of a study with between-subject factors: the report must recover the injected effects."""

import re

import pytest

from tests.conftest import MakeStudy
from tests.rehearsals.conftest import rehearsed
from turnwise.crowd.models import Participation
from turnwise.rehearsals.condition_effects import tilt_of
from turnwise.rehearsals.services import enough_workers
from turnwise.studies.conditions.factors import parse

TEXT = (
    "# tone: formal\nBe formal.\n# tone: casual\nBe casual.\n# length: short\n-\n# length: long\nWrite much."
)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_same_database")
def test_the_injected_effects_of_factors_are_recovered(make_study: MakeStudy) -> None:
    study = make_study({"scripty": 3, "another": 3}, min_turns=6, max_turns=8, factors=parse(TEXT).factors)
    assert enough_workers(study) == 120

    said = rehearsed(study, "--workers", "120")

    assert re.search(r"recovers the injected effects: (\d+) of \1 findings hold", said), said
    assert "Factor tone: the report counts" in said
    shown = re.search(
        r"Sensibleness, tone casual less formal: injected (\S+), reported (\S+) \(.*inside", said
    )
    assert shown, said
    assert abs(float(shown[1])) > 8
    people = Participation.objects.filter(study=study.rehearsal)
    assert people.filter(condition={"tone": "casual", "length": "long"}).count() == 30


def test_the_tilt_grows_with_the_levels_and_adds_up_over_factors() -> None:
    factors = parse(TEXT).factors

    assert tilt_of(factors, {"tone": "formal", "length": "short"}) == 0
    assert tilt_of(factors, {"tone": "casual", "length": "short"}) == pytest.approx(0.3)
    assert tilt_of(factors, {"tone": "casual", "length": "long"}) == pytest.approx(0.45)
