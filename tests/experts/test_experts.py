"""Invited experts, their shares, and an adjudicator's decisions, from the link to the bundle."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from html import unescape
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import UUID
from zipfile import ZipFile

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client
from django.utils import timezone

from evaluation.report.bundles.recomputation import recompute
from tests.asking import LIKENESS, SSA, asking
from tests.conftest import MakeContexts, MakeRun, enter
from tests.desks import begin, held, judge
from tests.planted import SignIn, computed
from tests.studies.test_presets import sent
from turnwise.accounts.models import User
from turnwise.crowd.models import Invitation, Participation
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.experts import disputes, invitations, services
from turnwise.experts.models import Adjudication
from turnwise.experts.services import Adjudicator, DecidedMeanwhileError
from turnwise.exports.bundle import write_bundle
from turnwise.judging.items import subjects
from turnwise.judging.models import Batch, Item, Slot
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.services import plan_of
from turnwise.labels.models import Label
from turnwise.privacy.erasure import erase_due
from turnwise.studies.asks import AskSpec
from turnwise.studies.models import Study
from turnwise.studies.services import set_state
from turnwise.studies.sharing.services import share_with_person

YES, VAGUE, NO = (
    {"sensible": True, "specific": True},
    {"sensible": True, "specific": False},
    {"sensible": False, "specific": False},
)


@pytest.fixture
def draft(rex: User, make_contexts: MakeContexts, make_run: MakeRun) -> Study:
    """Four responses of Alpha, two raters for each, and an adjudicator where they differ."""
    return with_items(asking(rex, SSA, adjudication_steps=2), make_contexts, make_run)


def with_items(study: Study, make_contexts: MakeContexts, make_run: MakeRun, number: int = 4) -> Study:
    subjects.add_responses(study, make_run(make_contexts(number), "Alpha"))
    return study


def opened(study: Study) -> Study:
    return set_state(study.pk, Study.State.OPEN)


def contexts_of(study: Study) -> dict[int, str]:
    """Key of the context of each item, by id."""
    return dict(study.items.values_list("pk", "response__context__key"))


def judged_twice(study: Study, first: dict[str, Any], second: dict[str, Any]) -> None:
    """Two raters judge each item: by key of its context, else sensible and specific."""
    of = contexts_of(study)
    for answers in (first, second):
        judge(study, partial(_answer, of, answers))


def _answer(of: dict[int, str], answers: dict[str, Any], item: Item) -> dict[str, Any]:
    found: dict[str, Any] = answers.get(of[item.pk], YES)
    return found


def item_about(study: Study, context: str) -> Item:
    return study.items.get(response__context__key=context)


def link_in(page: str) -> str:
    found = re.search(r'id="expert-link"[^>]*value="([^"]+)"', page)
    assert found, page
    return unescape(found[1]).removeprefix("http://testserver")


def text_of(answer: Any) -> str:
    return " ".join(unescape(answer.content.decode()).split())


def agree(link: str, study: Study) -> tuple[Client, Any]:
    """A browser opens an expert's link and consents."""
    browser = Client()
    page = browser.get(link)
    arrival = re.search(r'name="arrival" value="([^"]*)"', page.content.decode())
    sent = {"agree": "yes", "consent": "1", "arrival": unescape(arrival[1]) if arrival else ""}
    return browser, browser.post(f"/s/{study.code}/consent/", sent)


@pytest.mark.django_db
def test_experts_come_by_links_shown_once_and_judge_their_shares(
    draft: Study, rex: User, sign_in: SignIn
) -> None:
    browser, here = sign_in(rex), f"/studies/{draft.pk}/experts/"
    assert "No expert is invited yet." in text_of(browser.get(here))
    ann = browser.post(
        f"{here}invite/", {"name": "Ann", "email": "ann@example.org", "role": "rater", "share": "3"}
    )
    bob = browser.post(f"{here}invite/", {"name": "Bob", "role": "rater"})
    twice = browser.post(f"{here}invite/", {"name": "Bob", "role": "rater"})
    links = {name: link_in(page.content.decode()) for name, page in (("Ann", ann), ("Bob", bob))}

    assert "mailto:ann@example.org?subject=Judge%20both" in ann.content.decode()
    assert "“Bob” is invited already." in text_of(twice)
    assert twice.status_code == 422
    page = text_of(browser.get(here))
    assert "The shares make 7 judgments, and the items need 8" in page
    assert links["Bob"] not in page
    secret = links["Ann"].partition("=")[2]
    assert not Invitation.objects.filter(token=secret).exists()
    assert not Invitation.objects.filter(digest=secret).exists()

    study = opened(draft)
    for name, wanted in (("Ann", 3), ("Bob", 4)):
        _browser, answer = agree(links[name], study)
        assert answer.status_code == 302, answer.content
        batch = judging.begin(Participation.objects.latest("pk"), language="en")
        assert batch.size == wanted
    assert Client().get(f"{links['Ann']}x").status_code == 403
    page = text_of(browser.get(here))
    assert "0 of 3" in page
    assert "0 of 4" in page
    ann_row = study.invitations.get(name="Ann")
    fixed = browser.post(f"{here}{ann_row.pk}/", {"action": "share", "share": "9"}, follow=True)
    assert "Ann has begun, so the share is fixed." in text_of(fixed)


@pytest.mark.django_db
def test_a_revoked_link_admits_nobody_and_a_new_one_does(draft: Study, rex: User, sign_in: SignIn) -> None:
    study, browser = opened(draft), sign_in(rex)
    here = f"/studies/{study.pk}/experts/"
    link = link_in(browser.post(f"{here}invite/", {"name": "Ann", "role": "rater"}).content.decode())
    opened_before = Client().get(link).content.decode()
    _ann, came = agree(link, study)
    judging.begin(Participation.objects.latest("pk"), language="en")
    row = study.invitations.get()

    browser.post(f"{here}{row.pk}/", {"action": "revoke"})

    assert came.status_code == 302
    assert Client().get(link).status_code == 403
    assert Batch.objects.get().assignment.outcome == "timed_out"
    arrival = re.search(r'name="arrival" value="([^"]*)"', opened_before)
    assert arrival
    late = Client().post(
        f"/s/{study.code}/consent/", {"agree": "yes", "consent": "1", "arrival": unescape(arrival[1])}
    )
    assert late.status_code == 403
    renewed = link_in(browser.post(f"{here}{row.pk}/", {"action": "link"}).content.decode())
    assert renewed != link
    _row, secret = invitations.invite(study, "Bob")
    agree(f"/s/{study.code}/?invitation={secret}", study)
    invitations.revoke(study.invitations.get(name="Bob"))  # Bob has agreed, and not begun
    with pytest.raises(EntryRefusedError):
        judging.begin(Participation.objects.latest("pk"), language="en")
    assert Client().get(renewed).status_code == 200
    assert Client().get(link).status_code == 403


def adjudicator_of(study: Study) -> Client:
    """A browser without an account that came by an adjudicator's link."""
    _row, secret = invitations.invite(study, "Judy", is_adjudicator=True)
    browser = Client()
    assert browser.get(f"/adjudicate/{secret}/").status_code == 302
    return browser


@pytest.mark.django_db(transaction=True)
def test_an_invited_adjudicator_decides_and_the_report_and_bundle_show_both(
    draft: Study, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    """Sensible, by context: c1 (1 0) decided 0, c2 (1 1), c3 (1 1), c4 (0 1) undone.

    Specific: c3 (1 0) decided 1. Before, sensible: 6 of 8 judgments; after: c1, c2, c3 give 2 of 3.
    """
    study = opened(draft)
    judged_twice(study, {"c4": NO}, {"c1": NO, "c3": VAGUE})
    before = list(Label.objects.order_by("pk").values_list("answers", flat=True))
    judy, here = adjudicator_of(study), f"/studies/{study.pk}/adjudication/"
    listed = text_of(judy.get(here))
    assert "They differ on 3, of which 0 are decided." in listed
    first = f"{here}{item_about(study, 'c1').key}/"
    page = text_of(judy.get(first))
    assert all(each in page for each in ("Alpha answers c1.", "Rater 1", "Rater 2", "differ"))
    assert not any(name in page for name in study.participations.values_list("pseudonym", flat=True))

    assert "Please say why" in text_of(judy.post(first, {"after": "0", "answer-sensible": "1"}))
    unanswered = judy.post(first, {"after": "0", "reason": "It is off."})
    assert unanswered.status_code == 422
    assert "Please answer “" in text_of(unanswered)
    assert not Adjudication.objects.exists()
    saved = judy.post(
        first, {"after": "0", "reason": "It is off.", "answer-sensible": "1", "answer-specific": ""}
    )
    assert saved.status_code == 302
    late = sign_in(rex).post(first, {"after": "0", "reason": "Fine to me.", "answer-sensible": "0"})
    assert late.status_code == 409
    assert "That decision stands" in text_of(late)
    assert "It is off." in text_of(late)
    judy.post(
        f"{here}{item_about(study, 'c3').key}/",
        {"after": "0", "reason": "It names it.", "answer-specific": "0"},
    )
    fourth = f"{here}{item_about(study, 'c4').key}/"
    judy.post(fourth, {"after": "0", "reason": "Odd.", "answer-sensible": "1"})
    judy.post(fourth, {"after": "1", "undo": "1"})

    assert [each.answers for each in Adjudication.objects.order_by("pk")] == [
        {"sensible": False, "specific": False}, {"specific": True},
        {"sensible": False, "specific": False}, None,
    ]  # fmt: skip
    assert list(Label.objects.order_by("pk").values_list("answers", flat=True)) == before
    result = computed(study).result
    assert result
    found = result["adjudication"]
    assert [found[key] for key in ("items", "agreed", "disputed", "adjudicated", "unresolved")] == [
        4,
        1,
        3,
        2,
        1,
    ]
    cells = found["bots"][0]
    sensible = next(n for n, column in enumerate(result["columns"]) if column["key"] == "sensible")
    assert cells["before"][sensible]["value"] == result["bots"][0]["cells"][sensible]["value"] == 75
    assert cells["after"][sensible]["value"] == pytest.approx(200 / 3)
    shown = text_of(sign_in(rex).get(f"/studies/{study.pk}/report/"))
    assert "Decided by an adjudicator: 2; unresolved: 1." in shown
    assert "Unresolved items have no value after adjudication" in shown

    stream = BytesIO()
    write_bundle(study.pk, stream)
    path = tmp_path / "bundle.zip"
    path.write_bytes(stream.getvalue())
    again = recompute(path)
    assert again.equal, again.differences
    assert again.report["adjudication"] == found
    rows = ZipFile(path).read("data/adjudications.csv").decode()
    assert rows.count("\r\n") == 5
    assert "adjudicator 1" in rows
    assert "It names it." in rows
    assert "Judy" not in rows

    set_state(study.pk, Study.State.CLOSED)
    closed = judy.post(fourth, {"after": "2", "reason": "Odd.", "answer-sensible": "1"})
    assert closed.status_code == 422
    assert Adjudication.objects.count() == 4
    invitations.revoke(study.invitations.get(name="Judy"))
    assert judy.get(here)["Location"].startswith("/sign-in/")


@pytest.mark.django_db(transaction=True)
def test_of_two_decisions_at_once_the_first_stands(draft: Study, rex: User) -> None:
    study = opened(draft)
    judged_twice(study, {}, {"c1": NO})
    item = item_about(study, "c1")

    def decide(sensible: bool) -> bool:
        try:
            services.decide(
                item,
                {"sensible": sensible, "specific": False},
                reason="So.",
                after=0,
                by=Adjudicator(user=rex),
            )
        except DecidedMeanwhileError:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(2) as people:
        saved = list(people.map(decide, (True, False)))

    assert sorted(saved) == [False, True]
    decision = Adjudication.objects.get()
    assert decision.answers
    assert decision.answers["sensible"] is saved[0]


@pytest.mark.django_db
def test_only_complete_disputes_are_decided_and_a_changed_judgment_reopens(draft: Study, rex: User) -> None:
    study, by = opened(draft), Adjudicator(user=rex)
    item = item_about(study, "c1")
    first = begin(study)
    with pytest.raises(ValidationError, match="Fewer than two raters"):
        services.decide(item, NO, reason="So.", after=0, by=by)
    of = contexts_of(study)
    while keys := held(first):
        judging.judge(first, key=UUID(keys[0]), answers=YES)
    second = begin(study)
    while keys := held(second):
        about = of[Slot.objects.filter(key=keys[0])[0].item_id]
        judging.judge(second, key=UUID(keys[0]), answers=VAGUE if about == "c1" else YES)
    with pytest.raises(ValidationError, match="The raters agree"):
        services.decide(item_about(study, "c2"), NO, reason="So.", after=0, by=by)
    services.decide(item, {"specific": True}, reason="So.", after=0, by=by)
    [decided] = disputes.judged_items(study, 2, item)

    judging.judge(second, key=item.key, answers=NO)

    [reopened] = disputes.judged_items(study, 2, item)
    assert (decided.is_decided, decided.open) == (True, ["specific"])
    assert (reopened.is_decided, reopened.open) == (False, ["sensible", "specific"])


@pytest.mark.django_db
def test_adjudication_is_declared_before_opening(draft: Study, rex: User, sign_in: SignIn) -> None:
    here, browser = f"/studies/{draft.pk}/experts/", sign_in(rex)

    assert browser.post(here, {"adjudicates": "on", "steps": "3"}).status_code == 302
    assert disputes.adjudication_steps(draft) == 3
    assert browser.post(here, {"steps": "0", "adjudicates": "on"}).status_code == 422
    browser.post(here, {"steps": "2"})
    assert disputes.adjudication_steps(draft) is None
    study = opened(draft)
    assert browser.post(here, {"adjudicates": "on", "steps": "2"}).status_code == 422
    assert disputes.adjudication_steps(study) is None


@pytest.mark.django_db(transaction=True)
def test_the_preset_begins_an_expert_review_and_the_report_names_departures(
    rex: User, sign_in: SignIn, make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    browser, address = sign_in(rex), "/studies/new/?protocol=expert-review"
    page = browser.get(address).content.decode()
    given = {"title": "Review", "consent_text": "Yes?", "languages": "en", "asks-0-question_set": "ssa"}
    assert browser.post(address, sent(page) | given).status_code == 302
    study = with_items(Study.objects.get(), make_contexts, make_run, 2)
    plan = plan_of(study)
    assert (study.protocol, plan.raters_per_item, plan.adjudication_steps) == ("expert-review", 2, 2)
    study = opened(study)
    judge(study, lambda _item: YES)

    result = computed(study).result

    assert result
    assert result["deviations"] == ["2 of 2 items have fewer than the 2 raters that are wanted."]
    assert result["adjudication"]["alone"] == 2


@pytest.mark.django_db
def test_decided_items_become_gold_items_of_a_draft(
    draft: Study, rex: User, sign_in: SignIn, make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    study, browser = opened(draft), sign_in(rex)
    judged_twice(study, {}, {"c1": NO, "c3": VAGUE})
    services.decide(
        item_about(study, "c3"), {"specific": True}, reason="So.", after=0, by=Adjudicator(user=rex)
    )
    later, other = asking(rex, SSA), asking(rex, LIKENESS)
    here = f"/studies/{study.pk}/adjudication/"

    refused = browser.post(f"{here}gold/", {"study": other.pk}, follow=True)
    made = browser.post(f"{here}gold/", {"study": later.pk}, follow=True)

    assert "Choose a draft that asks the same questions." in text_of(refused)
    assert "1 decided item is gold in this study." in text_of(made)
    [gold] = later.items.all()
    assert gold.response_id == item_about(study, "c3").response_id
    assert gold.right_answers == {"sensible": [True], "specific": [True]}
    assert not other.items.exists()
    assert services.make_gold(study, later) == 1  # again, nothing twice
    assert later.items.count() == 1


@pytest.mark.django_db
def test_nobody_else_sees_or_decides(draft: Study, rex: User, mallory: User, sign_in: SignIn) -> None:
    study = opened(draft)
    judged_twice(study, {}, {"c1": NO})
    key = item_about(study, "c1").key
    elsewhere = adjudicator_of(with_adjudication(rex))
    rater, secret = invitations.invite(study, "Ann")
    share_with_person(study, "mallory", "reader")
    pages = (f"/studies/{study.pk}/adjudication/", f"/studies/{study.pk}/adjudication/{key}/")

    for page in pages:
        assert Client().get(page)["Location"].startswith("/sign-in/")
        assert elsewhere.get(page)["Location"].startswith("/sign-in/")
        assert sign_in(mallory).get(page).status_code == 404
        assert sign_in(mallory).post(page, {"after": "0", "reason": "x"}).status_code in (404, 405)
    assert elsewhere.post(pages[1], {"after": "0", "reason": "x", "answer-sensible": "0"}).status_code == 302
    assert Client().get(f"/adjudicate/{secret}/").status_code == 404  # a rater's link
    assert not rater.is_adjudicator
    assert not Adjudication.objects.exists()
    _row, admits = invitations.invite(study, "Judy", is_adjudicator=True)
    assert Client().get(f"/s/{study.code}/?invitation={admits}").status_code == 403  # judges nothing


def with_adjudication(owner: User) -> Study:
    return asking(owner, AskSpec("ssa", SSA.about), adjudication_steps=2)


@pytest.mark.django_db
def test_names_of_experts_are_erased_at_once_or_with_the_retention_period(
    draft: Study, rex: User, sign_in: SignIn
) -> None:
    study = opened(draft)
    ann, secret = invitations.invite(study, "Ann", email="ann@example.org")
    judy, _secret = invitations.invite(study, "Judy", email="judy@example.org", is_adjudicator=True)
    agree(f"/s/{study.code}/?invitation={secret}", study)
    enter(study)

    sign_in(rex).post(f"/studies/{study.pk}/experts/{ann.pk}/", {"action": "erase"})
    much_later = timezone.now() + timedelta(days=study.retention_days + 1)
    erase_due(now=much_later)
    still_open = Invitation.objects.get(pk=judy.pk)
    set_state(study.pk, Study.State.CLOSED)
    erase_due(now=much_later)

    ann.refresh_from_db()
    judy.refresh_from_db()
    assert (ann.name, ann.email, bool(ann.revoked_at)) == (f"[erased] {ann.pk}", "", True)
    assert still_open.name == "Judy"
    assert (judy.name, judy.email, bool(judy.revoked_at)) == (f"[erased] {judy.pk}", "", True)
