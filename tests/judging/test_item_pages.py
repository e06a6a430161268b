"""The researcher's pages of a judging study."""

from collections.abc import Callable

import pytest
from django.test import Client

from tests.conftest import MakeContexts, MakeQueue, MakeRun
from tests.desks import judge
from tests.planted import talked
from turnwise.accounts.models import User
from turnwise.judging import queries as item_queries
from turnwise.judging.items import subjects
from turnwise.judging.items.item_votes import Filter, items_with_votes
from turnwise.judging.models import JudgingPlan, Slot
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db

SignIn = Callable[[User], Client]
YES, NO = {"sensible": True, "specific": True}, {"sensible": False}


@pytest.fixture
def judged(make_queue: MakeQueue) -> Study:
    """Of two items, three raters agree on the first and are split on the second."""
    study = make_queue(2, raters=3)
    disputed = study.items.get(response__context__key="c2")
    for _ in range(2):
        judge(study, lambda item: YES)
    judge(study, lambda item: NO if item == disputed else YES)
    return study


# --- votes ---------------------------------------------------------------------------------------


def test_the_most_disputed_items_come_first(judged: Study) -> None:
    found, total = items_with_votes(judged.work_asks[0], Filter("sensible"), limit=10, offset=0)

    assert total == 2
    assert [(row.text, row.votes, row.raters, row.disagreement) for row in found] == [
        ("Alpha answers c2.", [("Yes", 2), ("No", 1)], 3, 33),
        ("Alpha answers c1.", [("Yes", 3)], 3, 0),
    ]
    assert found[0].before == "Question 2?"


@pytest.mark.parametrize(
    ("chosen", "texts"),
    [
        (Filter("sensible", state="split"), ["Alpha answers c2."]),
        (Filter("sensible", majority="true"), ["Alpha answers c2.", "Alpha answers c1."]),
        (Filter("sensible", majority="false"), []),
        (Filter("sensible", system="Beta"), []),
        (Filter("sensible", system="Alpha", state="split"), ["Alpha answers c2."]),
    ],
)
def test_items_are_filtered(judged: Study, chosen: Filter, texts: list[str]) -> None:
    found, _ = items_with_votes(judged.work_asks[0], chosen, limit=10, offset=0)

    assert [row.text for row in found] == texts


def test_a_tie_has_no_majority(make_queue: MakeQueue) -> None:
    study = make_queue(1, raters=2)
    for answer in (YES, NO):
        judge(study, lambda item, answer=answer: answer)  # type: ignore[misc]

    for majority in ("true", "false"):
        chosen = Filter("sensible", majority=majority)
        assert items_with_votes(study.work_asks[0], chosen, limit=1, offset=0)[0] == []


def test_counts_by_system(make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun) -> None:
    study, contexts = make_queue(raters=2), make_contexts(3)
    for system in ("Alpha", "Beta"):
        subjects.add_responses(study, make_run(contexts, system))
    judge(study, lambda item: NO)

    assert item_queries.system_counts(study) == [("Alpha", 3, 0, 3, 6), ("Beta", 3, 0, 3, 6)]


# --- pages ---------------------------------------------------------------------------------------


def test_items_are_added_on_the_page(
    make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun, rex: User, sign_in: SignIn
) -> None:
    study, run = make_queue(), make_run(make_contexts(4), "Alpha")
    browser = sign_in(rex)
    assert "Nothing to judge yet." in browser.get(f"/studies/{study.pk}/queue/").content.decode()

    page = browser.post(f"/studies/{study.pk}/queue/add/", {"run": run.pk}, follow=True).content.decode()

    assert "4 items added." in page
    assert "0 of 20" in page
    again = browser.post(f"/studies/{study.pk}/queue/add/", {"run": run.pk}, follow=True).content.decode()
    assert "Nothing was added" in again


def test_conversations_are_added_on_the_page(
    make_queue: MakeQueue, study: Study, rex: User, sign_in: SignIn
) -> None:
    talked(study, [(True, True)] * 7)
    queue = make_queue()
    sent = {"source": study.pk, "subject": "turn", "language": "en", "conversations": ""}

    page = sign_in(rex).post(f"/studies/{queue.pk}/queue/add/", sent, follow=True).content.decode()

    assert "7 items added." in page


def test_the_page_refuses_subjects_that_no_question_is_about(
    make_queue: MakeQueue, study: Study, rex: User, sign_in: SignIn
) -> None:
    sent = {"source": study.pk, "subject": "dialogue", "language": "en", "conversations": "0"}

    response = sign_in(rex).post(f"/studies/{make_queue().pk}/queue/add/", sent)

    assert response.status_code == 422
    assert "Select a valid choice" in response.content.decode()


def test_the_plan_is_changed_on_the_page(make_queue: MakeQueue, rex: User, sign_in: SignIn) -> None:
    study = make_queue(2, raters=5)
    sent = {"raters_per_item": 3, "batch_size": 20, "lease_seconds": 300}

    sign_in(rex).post(f"/studies/{study.pk}/queue/", sent)

    assert JudgingPlan.objects.get(study=study).batch_size == 20
    assert Slot.objects.filter(study=study).count() == 6


def test_a_plan_out_of_bounds_is_refused(make_queue: MakeQueue, rex: User, sign_in: SignIn) -> None:
    sent = {"raters_per_item": 0, "batch_size": 20, "lease_seconds": 300}

    assert sign_in(rex).post(f"/studies/{make_queue().pk}/queue/", sent).status_code == 422


def test_every_item_has_a_page_with_its_votes(judged: Study, rex: User, sign_in: SignIn) -> None:
    browser = sign_in(rex)
    listed = browser.get(f"/studies/{judged.pk}/items/?state=split&question=sensible&page=x").content.decode()
    disputed = judged.items.get(response__context__key="c2")
    address = f"/studies/{judged.pk}/items/{disputed.key}/"
    assert address in listed

    page = browser.get(address).content.decode()

    assert "Alpha answers c2." in page
    assert "Pages of this study" in page
    assert "Question 2?" in page
    assert page.count("<td>No</td>") == 2  # the third rater: neither sensible nor specific


def test_a_rater_is_excluded_with_a_reason_and_restored(judged: Study, rex: User, sign_in: SignIn) -> None:
    browser, item = sign_in(rex), judged.items.get(response__context__key="c1")
    rater = judged.participations.order_by("pk").first()
    assert rater
    address = f"/studies/{judged.pk}/items/{item.key}/"
    sent = {"rater": rater.pseudonym, "reason": "Too fast"}

    assert "excluded: Too fast" in browser.post(f"{address}exclude/", sent, follow=True).content.decode()
    assert (
        "excluded:"
        not in browser.post(f"{address}exclude/", sent | {"reason": ""}, follow=True).content.decode()
    )
    assert browser.post(f"{address}exclude/", {"rater": "nobody"}).status_code == 404


def test_items_are_ordered_taken_out_and_put_back(judged: Study, rex: User, sign_in: SignIn) -> None:
    browser, address = sign_in(rex), f"/studies/{judged.pk}/items/"
    first, second = judged.items.order_by("response__context__key")

    def listed(query: str) -> list[object]:
        return [row.key for row in browser.get(f"{address}?{query}").context["items"]]

    def act(action: str, *keys: object) -> str:
        sent = {"item": keys, "action": action, "query": "sort=key&next=//evil"}
        answer = browser.post(f"{address}act/", sent)
        assert answer["Location"] == f"{address}?sort=key"
        return " ".join(str(message) for message in browser.get(answer["Location"]).context["messages"])

    assert listed("sort=key") == sorted([first.key, second.key])
    assert listed("state=x&sort=x") == [second.key, first.key]
    assert listed("state=split&sort=fewest") == [second.key]
    assert listed("state=undecided") == listed("state=removed") == listed("state=gold") == []

    assert "No item is ticked" in act("take_out", "x")
    assert "Choose what to do" in act("burn", first.key)
    assert "1 item is out of the queue" in act("take_out", first.key)
    assert "No changes were made" in act("take_out", first.key)
    assert listed("state=removed") == [first.key]
    assert "1 item is in the queue again" in act("put_back", first.key, second.key)
    assert listed("state=removed") == []
    judged.items.filter(pk=first.pk).update(right_answers={"sensible": True})
    assert listed("state=gold") == [first.key]
    assert "No changes were made" in act("take_out", first.key)


@pytest.mark.parametrize("query", ["?question=none&majority=%27&system=%01&page=-1", "?page=999999999999"])
def test_a_strange_query_is_no_error(judged: Study, rex: User, sign_in: SignIn, query: str) -> None:
    assert sign_in(rex).get(f"/studies/{judged.pk}/items/{query}").status_code == 200


@pytest.mark.parametrize("page", ["queue/", "items/", "readers/", "items/{key}/"])
def test_other_users_see_none_of_the_pages(judged: Study, mallory: User, sign_in: SignIn, page: str) -> None:
    item = judged.items.first()
    assert item
    address = f"/studies/{judged.pk}/{page.format(key=item.key)}"

    assert sign_in(mallory).get(address).status_code == 404
    assert Client().get(address).status_code == 302


def test_a_study_of_conversations_has_no_queue(study: Study, rex: User, sign_in: SignIn) -> None:
    assert sign_in(rex).get(f"/studies/{study.pk}/queue/").status_code == 404


def test_a_judging_study_is_made_in_a_form(rex: User, sign_in: SignIn) -> None:
    sent = {
        "title": "Judge them", "languages": "en", "asks-0-question_set": "ssa", "consent_text": "You judge.",
        "pay_amount": "1", "pay_currency": "USD", "expected_minutes": "10",
    }  # fmt: skip
    sign_in(rex).post("/studies/new/?task=judging", sent)

    assert Study.objects.get().task == "judging"
