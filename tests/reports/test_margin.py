"""A margin of equivalence: declared in a study's plan, fixed once it opens, and used by its report."""

import json
import zipfile
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command

from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeStudy
from tests.planted import SignIn, computed, talked
from turnwise.reports.descriptions import method
from turnwise.studies.models import Study
from turnwise.studies.services import save_study

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def planned(make_study: MakeStudy) -> Study:
    """Two bots that answer nearly alike, and a margin of 25 points."""
    study = make_study({"ann": 99, "bob": 99}, min_turns=2, max_turns=8, margin=25)
    for n in range(24):
        talked(study, [(True, n % 4 < 2), (n % 3 > 0, False)])
    return study


def test_the_report_tests_equivalence_within_the_declared_margin(
    planned: Study, sign_in: SignIn, tmp_path: Path
) -> None:
    result = computed(planned).result
    assert result
    by_score = {each["score"]: each for each in result["comparisons"]}
    page = " ".join(sign_in(planned.owner).get(f"/studies/{planned.pk}/report/").content.decode().split())
    call_command("bundle", str(planned.pk), output=tmp_path / "bundle.zip")
    with zipfile.ZipFile(tmp_path / "bundle.zip") as bundle:
        about = json.loads(bundle.read("study.json"))["protocol"]
        table = bundle.read("tables/comparisons.tex").decode()

    # It is about the score with which the report begins, and about no other.
    assert [key for key, each in by_score.items() if "margin" in each] == ["ssa"]
    found = by_score["ssa"]
    assert found["equivalent"] is (found["equal_within"] < 25)
    assert result["answer"]["p_equivalent"] == found["p_equivalent"]
    assert "Margin of equivalence declared before the study opened: 25 points of SSA." in page
    assert ("are <strong>equivalent</strong> within it" in page) is found["equivalent"]
    assert (
        "within a margin of 25 points of SSA, declared before the study opened"
        in method(planned, result).text
    )
    assert "A margin of equivalence of 25.0 points was declared" in " ".join(result["deviations"])
    assert about["margin"] == 25
    assert "$p$, margin" in table
    assert recompute(tmp_path / "bundle.zip").differences == []


def test_at_the_smallest_margin_of_equivalence_p_equals_the_level(planned: Study) -> None:
    first = computed(planned).result
    assert first
    (within,) = (each["equal_within"] for each in first["comparisons"] if each["score"] == "ssa")
    Study.objects.filter(pk=planned.pk).update(margin=within)

    again = computed(planned).result

    # By definition: two one-sided tests at 5 % just reject a difference of this size.
    assert again
    assert again["answer"]["p_equivalent"] == pytest.approx(0.05)


def test_the_margin_is_fixed_once_the_study_has_opened(planned: Study) -> None:
    planned.margin = 5
    with pytest.raises(ValidationError, match="its protocol is fixed") as refused:
        save_study(planned, owner=planned.owner, consent_text="You talk to a machine.", targets={})
    planned.margin = -5
    with pytest.raises(ValidationError) as negative:
        planned.full_clean()

    assert set(refused.value.message_dict) == {"margin"}
    assert set(negative.value.message_dict) == {"margin"}


def test_the_form_takes_the_margin_and_the_page_shows_it(planned: Study, sign_in: SignIn) -> None:
    browser = sign_in(planned.owner)

    form = browser.get(f"/studies/{planned.pk}/edit/").content.decode()
    page = browser.get(f"/studies/{planned.pk}/").content.decode()

    assert 'name="margin"' in form
    assert "<dt>Margin of equivalence</dt><dd>25 points</dd>" in page
