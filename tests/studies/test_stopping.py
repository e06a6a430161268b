"""A stopping rule: declared on a draft, fixed at the opening; the report closes the study by it."""

from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import transaction

from evaluation.report.bundles.recomputation import recompute
from evaluation.report.stopping import StoppingRule as DeclaredRule
from tests.conftest import MakeStudy
from tests.planted import SignIn, computed, figures, talked
from tests.rewriting import rewriting
from turnwise.labels.models import Label
from turnwise.studies.models import StoppingRule, Study
from turnwise.studies.plans.stopping import declare_rule, remove_rule
from turnwise.studies.services import clone, close_by_rule, set_bots, set_state

pytestmark = pytest.mark.django_db(transaction=True)

FORM = {
    "compare": "all",
    "score": "ssa",
    "difference": "10",
    "equivalence": "on",
    "planned": "16",
    "largest": "20",
    "first_look": "10",
}


def rule(**values: Any) -> StoppingRule:
    usual = {
        "score": "ssa",
        "difference": 10,
        "equivalence": True,
        "planned": 16,
        "largest": 20,
        "first_look": 10,
    }
    return StoppingRule(**usual | values)


@pytest.fixture
def draft(make_study: MakeStudy) -> Study:
    study = make_study({"ann": 20, "bob": 20}, min_turns=2, max_turns=8)
    Study.objects.filter(pk=study.pk).update(state=Study.State.DRAFT)
    study.refresh_from_db()
    return study


def test_a_study_closes_itself_once_it_is_decided(draft: Study, sign_in: SignIn, tmp_path: Path) -> None:
    browser, address = sign_in(draft.owner), f"/studies/{draft.pk}/stopping/"
    assert "none" in browser.get(f"/studies/{draft.pk}/").content.decode()
    assert browser.post(address, FORM).status_code == 302
    set_state(draft.pk, Study.State.OPEN)
    draft.refresh_from_db()
    assert "No report yet" in browser.get(f"/studies/{draft.pk}/").content.decode()
    with transaction.atomic():  # one commit; the study needs ten workers for each bot
        for _ in range(20):
            talked(draft, [(True, True)])
        of_bob = Label.objects.filter(turn__bot_version__bot__name="bob")
        with rewriting():
            of_bob.update(answers={"sensible": False, "specific": False})
    found = figures(computed(draft))["stopping"]
    draft.refresh_from_db()
    assert draft.state == Study.State.CLOSED
    assert StoppingRule.objects.get(study=draft).stopped == found
    (pair,) = found["pairs"]
    assert {pair["first"], pair["second"]} == {"Ann", "Bob"}
    assert pair["outcome"] == "different"
    assert found["conversations"] == 10

    # The next report says so, before everything else.
    assert figures(computed(draft))["stopping"]["stopped"] == found
    page = " ".join(browser.get(f"/studies/{draft.pk}/report/").content.decode().split())
    assert "<strong>Stopped by its rule</strong> at 10 of 20 conversations with each bot." in page
    assert "Cite the interval given here" in page
    assert "If you look before the study is full" not in page
    assert "Stopped by its rule" in browser.get(f"/studies/{draft.pk}/").content.decode()
    call_command("bundle", str(draft.pk), output=tmp_path / "bundle.zip")
    assert recompute(tmp_path / "bundle.zip").differences == []

    # Opened again, it stays open, and the report says that this departs from the rule.
    set_state(draft.pk, Study.State.OPEN)
    assert figures(computed(draft))["stopping"]["reopened"] is True
    draft.refresh_from_db()
    assert draft.state == Study.State.OPEN


def test_only_an_open_study_is_closed_by_its_rule_and_only_once(draft: Study) -> None:
    undecided = {"decided": False, "exhausted": False}
    at_the_largest = undecided | {"exhausted": True}
    assert close_by_rule(draft.pk, at_the_largest) is False  # no rule
    declare_rule(draft, rule())
    assert close_by_rule(draft.pk, at_the_largest) is False  # a draft
    set_state(draft.pk, Study.State.OPEN)
    assert close_by_rule(draft.pk, undecided) is False
    assert close_by_rule(draft.pk, at_the_largest) is True
    set_state(draft.pk, Study.State.OPEN)
    assert close_by_rule(draft.pk, at_the_largest) is False  # opened again

    draft.refresh_from_db()
    assert draft.state == Study.State.OPEN
    assert StoppingRule.objects.get(study=draft).stopped == at_the_largest


def test_a_rule_is_fixed_at_the_opening_and_copied_with_the_study(draft: Study, sign_in: SignIn) -> None:
    declare_rule(draft, rule(pair=[row.bot_id for row in draft.study_bots.all()]))
    set_state(draft.pk, Study.State.OPEN)
    browser = sign_in(draft.owner)
    draft.refresh_from_db()

    with pytest.raises(ValidationError, match="its stopping rule is fixed"):
        declare_rule(draft, rule(difference=2))
    with pytest.raises(ValidationError, match="its stopping rule is fixed"):
        remove_rule(draft)
    refused = browser.post(f"/studies/{draft.pk}/stopping/", FORM)
    assert refused.status_code == 422
    assert "Fixed at the opening" in refused.content.decode()
    assert StoppingRule.objects.get(study=draft).difference == 10

    copy = clone(draft, owner=draft.owner)
    copied = StoppingRule.objects.get(study=copy)
    assert (copied.largest, copied.difference, copied.is_frozen) == (20, 10, False)
    assert copied.pair
    remove_rule(copy)
    assert not StoppingRule.objects.filter(study=copy).exists()


def test_impossible_rules_are_refused_in_words(draft: Study, sign_in: SignIn, make_study: MakeStudy) -> None:
    browser, address = sign_in(draft.owner), f"/studies/{draft.pk}/stopping/"
    for name, value, says in (
        ("difference", "0", "Give a number above 0"),
        ("difference", "100", "100 points wide"),
        ("planned", "3", "Give a number from 10 to 100,000"),
        ("largest", "40", "at most 1.5 times it"),
        ("largest", "12", "at least the planned one"),
        ("first_look", "0", "from 1 to the largest number, 20"),
        ("score", "nonsense", "is not one of the available choices"),
        ("compare", "1:x", "is not one of the available choices"),
    ):
        answer = browser.post(address, FORM | {name: value})
        assert answer.status_code == 422
        assert says in " ".join(answer.content.decode().split())
    with pytest.raises(ValidationError, match="two bots of the study"):
        declare_rule(draft, rule(pair=[1, 2**40]))
    with pytest.raises(ValidationError, match="is no score of"):
        declare_rule(draft, rule(score="nonsense"))
    assert not StoppingRule.objects.exists()

    # More conversations may be needed than are planned with a bot.
    declare_rule(draft, rule(planned=20, largest=30))
    assert "planned with Ann, Bob" in browser.get(f"/studies/{draft.pk}/opening/").content.decode()
    with pytest.raises(ValidationError, match="fewer are planned with Ann, Bob"):
        set_state(draft.pk, Study.State.OPEN)

    # A bot that is added later would be one more comparison.
    declare_rule(draft, rule())
    set_state(draft.pk, Study.State.OPEN)
    third = make_study({"cat": 20}).study_bots.get().bot
    targets = {row.bot: row.target for row in draft.study_bots.all()}
    with pytest.raises(ValidationError, match="no bot can be added: Cat"):
        set_bots(draft.pk, targets | {third: 20})


def test_the_planner_leads_back_to_the_rule_of_a_draft(draft: Study, sign_in: SignIn) -> None:
    browser = sign_in(draft.owner)
    declare_rule(draft, rule())
    asked = {
        "kind": "conversations", "difference": "4", "power": "80", "systems": "2", "per_worker": "1",
        "allocation": "random", "raters": "1", "deviation": "20", "low": "0", "high": "100", "minutes": "10",
        "pay": "12", "currency": "EUR",
    }  # fmt: skip
    assert f"/plan/?rule_of={draft.pk}" in browser.get(f"/studies/{draft.pk}/stopping/").content.decode()
    page = browser.get("/plan/", asked | {"rule_of": draft.pk})
    units = page.context["plan"].needed.units
    assert f'name="rule_of" value="{draft.pk}"' in page.content.decode()
    assert "Use as stopping rule" in page.content.decode()

    form = browser.get(page.context["rule_address"]).context["form"]
    assert (form["planned"].value(), form["difference"].value()) == (units, "4")
    assert (form["largest"].value(), form["score"].value()) == (int(1.25 * units), "ssa")

    # Nothing leads from pairs, or to a study that has opened or is not the person's.
    assert browser.get("/plan/", asked | {"rule_of": draft.pk, "kind": "pairs"}).context["rule_address"] == ""
    set_state(draft.pk, Study.State.OPEN)
    for of in (str(draft.pk), "x", "9" * 30):
        assert browser.get("/plan/", asked | {"rule_of": of}).context["draft"] is None


def test_a_rule_survives_its_bundle() -> None:
    declared = DeclaredRule(["a", "b"], "ssa", 5.0, True, 80, 100, 20, {"n": 1}, reopened=True)
    assert DeclaredRule.from_json(declared.to_json()) == declared
