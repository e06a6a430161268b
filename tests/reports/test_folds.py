"""The matrix of a study of pairs, and the lines that sum up the folded sections of a report."""

import re
from uuid import UUID

import pytest

from tests.conftest import MakePairs
from tests.desks import begin
from tests.planted import SignIn, computed
from turnwise.accounts.models import User
from turnwise.judging.queue import services as judging
from turnwise.reports.templatetags.report_sections import ask_summary, quality_summary
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

# By pair of systems, the better one for each context; "" is a tie.
BETTER = {
    ("Alpha", "Beta"): ("Alpha", "Alpha", "Alpha", "Alpha"),
    ("Alpha", "Gamma"): ("Alpha", "Alpha", "Alpha", ""),
    ("Beta", "Gamma"): ("Beta", "Beta", "Gamma", ""),
}
DASH = "\u2013"
CELL = re.compile(r"<td[^>]*>(?:<i [^>]*>.</i>)?([^<]*)")


def test_a_report_of_pairs_has_a_matrix_of_leads_and_sums_up_its_folds(
    make_pairs: MakePairs, rex: User, sign_in: SignIn
) -> None:
    study = make_pairs(4, ("Alpha", "Beta", "Gamma"), raters=1, batch=12)
    desk = begin(study)
    while shown := judging.state(desk)["items"]:
        judging.judge(desk, key=UUID(shown[0]["key"]), answers={"better": _better_side(shown[0]["sides"])})
    judging.finish(desk)
    computed(study)

    page = sign_in(rex).get(f"/studies/{study.pk}/report/").content.decode()

    (matrix,) = re.findall(r'<table class="matrix">.*?<tbody>(.*?)</tbody>', page, re.DOTALL)
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', matrix)
    # Wins less losses in percent: 4 of 4; 3 of 4; 2 less 1 of 4.
    assert [(system, CELL.findall(cells)) for system, cells in rows] == [
        ("Alpha", [DASH, "+100.0", "+75.0"]),
        ("Beta", ["\u2212100.0", DASH, "+25.0"]),
        ("Gamma", ["\u221275.0", "\u221225.0", DASH]),
    ]
    assert _folds(page, study)["Workers"] == "1 worker"
    assert _folds(page, study)["Quality"].startswith("agreement unknown, ")


def test_a_report_of_conversations_sums_up_its_folds(reported: Study, rex: User, sign_in: SignIn) -> None:
    page = sign_in(rex).get(f"/studies/{reported.pk}/report/").content.decode()

    folds = _folds(page, reported)
    assert folds["Course of the conversations"] == "2 conversations finished, no faults"
    assert folds["Workers"].startswith("2 workers")
    assert folds["Progress"] == f"2 of {sum(each.target for each in reported.study_bots.all())} conversations"


def test_the_line_of_quality_has_the_range_of_alpha_and_the_departures() -> None:
    rows = [{"alpha": 0.41}, {"alpha": -0.138}, {"alpha": None}, {"alpha": 0.9, "undefined": "No variance."}]

    says = quality_summary({"agreement": rows, "protocol_key": "meena", "deviations": ["Fewer turns."]})
    assert says == "alpha \u22120.14 to 0.41, 1 departure from the protocol"
    assert quality_summary({"agreement": rows[:1]}) == "alpha 0.41"
    assert quality_summary({"protocol_key": "meena"}) == "agreement unknown, no departure from the protocol"


def test_the_line_of_an_ask_has_its_leader() -> None:
    answer = {"leader": "Alpha", "next": None, "value": 62.5, "difference": None, "score": "SSA"}

    assert ask_summary({"answer": answer}) == "Alpha: 62.5 (SSA)"
    assert (
        ask_summary({"answer": answer | {"next": "Beta", "difference": 4.04}})
        == "Alpha and Beta: 4.0 points of SSA apart"
    )
    assert ask_summary({"answer": None}) == ""


def _better_side(sides: list[dict[str, list[str]]]) -> str:
    """The answer about two responses such as "Alpha answers c1.", as `BETTER` has it."""
    (first, number), (second, _) = (side["texts"][0].split(" answers c") for side in sides)
    better = BETTER[min(first, second), max(first, second)][int(number.rstrip(".")) - 1]
    return {first: "first", second: "second", "": "tied"}[better]


def _folds(page: str, study: Study) -> dict[str, str]:
    """By title of each folded section, the line beside it."""
    found = re.findall(r'<h2[^>]*>([^<]*)</h2> <span class="part__says">([^<]*)</span>', page)
    assert found, study
    return dict(found)
