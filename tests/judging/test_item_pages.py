"""The researcher's pages of a judging study, and of readers beside chatters."""

from collections.abc import Callable
from uuid import UUID

import pytest
from django.test import Client

from accounts.models import User
from dialogues.models import Dialogue
from evaluation.kappa import Kappa, cohen_kappa
from evaluation.questions import SSA
from judging import queries as item_queries
from judging import readers, subjects
from judging import services as judging
from judging.models import Item, JudgingPlan, Slot
from judging.queries import Filter
from studies.models import Study
from tests.conftest import MakeContexts, MakeQueue, MakeRun, start_dialogue
from tests.judging.conftest import begin
from tests.planted import talked

pytestmark = pytest.mark.django_db

SignIn = Callable[[User], Client]
YES, NO = {"sensible": True, "specific": True}, {"sensible": False}


def judge(study: Study, answer: Callable[[Item], dict[str, bool]]) -> None:
    """One more rater answers so about every item."""
    desk = begin(study)
    while shown := judging.state(desk)["items"]:
        key = UUID(shown[0]["key"])
        judging.judge(desk, key=key, answers=answer(Item.objects.get(key=key)))


@pytest.fixture
def judged(make_queue: MakeQueue) -> Study:
    """Of two items, three raters agree on the first and are split on the second."""
    study = make_queue(2, raters=3)
    disputed = study.items.order_by("pk").last()
    for _ in range(2):
        judge(study, lambda item: YES)
    judge(study, lambda item: NO if item == disputed else YES)
    return study


# --- votes ---------------------------------------------------------------------------------------


def test_the_most_disputed_items_come_first(judged: Study) -> None:
    found, total = item_queries.voted(judged, SSA, Filter("sensible"), limit=10, offset=0)

    assert total == 2
    assert [(row.text, row.votes, row.raters, row.disagreement) for row in found] == [
        ("Alpha answers c2.", [("Yes", 2), ("No", 1)], 3, 33),
        ("Alpha answers c1.", [("Yes", 3)], 3, 0),
    ]
    assert found[0].before == "Question 2?"


@pytest.mark.parametrize(
    ("chosen", "texts"),
    [
        (Filter("sensible", split=True), ["Alpha answers c2."]),
        (Filter("sensible", majority="true"), ["Alpha answers c2.", "Alpha answers c1."]),
        (Filter("sensible", majority="false"), []),
        (Filter("sensible", system="Beta"), []),
        (Filter("sensible", system="Alpha", split=True), ["Alpha answers c2."]),
    ],
)
def test_items_are_filtered(judged: Study, chosen: Filter, texts: list[str]) -> None:
    found, _ = item_queries.voted(judged, SSA, chosen, limit=10, offset=0)

    assert [row.text for row in found] == texts


def test_a_tie_has_no_majority(make_queue: MakeQueue) -> None:
    study = make_queue(1, raters=2)
    for answer in (YES, NO):
        judge(study, lambda item, answer=answer: answer)

    for majority in ("true", "false"):
        assert (
            item_queries.voted(study, SSA, Filter("sensible", majority=majority), limit=1, offset=0)[0] == []
        )


def test_counts_by_system(make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun) -> None:
    study, contexts = make_queue(raters=2), make_contexts(3)
    for system in ("Alpha", "Beta"):
        subjects.add_responses(study, make_run(contexts, system))
    judge(study, lambda item: NO)

    assert item_queries.system_counts(study) == [("Alpha", 3, 3, 6), ("Beta", 3, 3, 6)]


# --- pages ---------------------------------------------------------------------------------------


def test_what_is_judged_is_added_on_the_page(
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


def test_a_subject_that_the_questions_are_not_about_is_refused_on_the_page(
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
    listed = browser.get(f"/studies/{judged.pk}/items/?split=1&question=sensible&page=x").content.decode()
    disputed = judged.items.order_by("pk").last()
    assert disputed
    address = f"/studies/{judged.pk}/items/{disputed.key}/"
    assert address in listed

    page = browser.get(address).content.decode()

    assert "Alpha answers c2." in page
    assert "Question 2?" in page
    assert page.count("<td>No</td>") == 2  # the third rater: neither sensible nor specific


def test_a_rater_is_excluded_for_a_reason_and_taken_back(judged: Study, rex: User, sign_in: SignIn) -> None:
    browser, item = sign_in(rex), judged.items.get(response__context__key="c1")
    rater = judged.participations.order_by("pk").first()
    assert rater
    address = f"/studies/{judged.pk}/items/{item.key}/"
    sent = {"rater": rater.worker.pseudonym, "reason": "Too fast"}

    assert "excluded: Too fast" in browser.post(f"{address}exclude/", sent, follow=True).content.decode()
    assert (
        "excluded:"
        not in browser.post(f"{address}exclude/", sent | {"reason": ""}, follow=True).content.decode()
    )
    assert browser.post(f"{address}exclude/", {"rater": "nobody"}).status_code == 404


@pytest.mark.parametrize("query", ["?question=none&majority=%27&system=%01&page=-1", "?page=999999999999"])
def test_a_strange_query_is_no_error(judged: Study, rex: User, sign_in: SignIn, query: str) -> None:
    assert sign_in(rex).get(f"/studies/{judged.pk}/items/{query}").status_code == 200


@pytest.mark.parametrize("page", ["queue/", "items/", "readers/", "items/{key}/"])
def test_strangers_see_none_of_it(judged: Study, mallory: User, sign_in: SignIn, page: str) -> None:
    item = judged.items.first()
    assert item
    address = f"/studies/{judged.pk}/{page.format(key=item.key)}"

    assert sign_in(mallory).get(address).status_code == 404
    assert Client().get(address).status_code == 302


def test_a_study_of_conversations_has_no_queue(study: Study, rex: User, sign_in: SignIn) -> None:
    assert sign_in(rex).get(f"/studies/{study.pk}/queue/").status_code == 404


def test_a_judging_study_is_made_in_a_form(rex: User, sign_in: SignIn) -> None:
    sent = {
        "title": "Judge them", "languages": "en", "question_set": "ssa", "consent_text": "You judge.",
        "pay_amount": "1", "pay_currency": "USD", "expected_minutes": "10",
    }  # fmt: skip
    sign_in(rex).post("/studies/new/?task=judging", sent)

    assert Study.objects.get().task == "judging"


# --- first and third party -----------------------------------------------------------------------


@pytest.fixture
def read(study: Study, make_queue: MakeQueue) -> Dialogue:
    """A conversation of seven replies: the chatter finds all sensible, two of three readers not the last."""
    dialogue = talked(study, [(True, True)] * 7)
    queue = make_queue(raters=3)
    subjects.add_turns(queue, study, language="en")
    for _ in range(2):
        judge(queue, lambda item: NO if item.turn and item.turn.position == 14 else YES)
    judge(queue, lambda item: YES)
    return dialogue


def test_labels_of_both_parties_stand_side_by_side(read: Dialogue) -> None:
    turns = readers.turns_of_both(read.study)

    assert len(turns) == 7
    assert turns[0].position == 14
    assert turns[0].verdicts(SSA.questions)[0] == {"chatter": "Yes", "readers": [("No", 2), ("Yes", 1)]}


def test_scores_and_agreement_of_both_parties(read: Dialogue) -> None:
    (found,) = readers.parties(SSA, readers.turns_of_both(read.study))

    # Readers: 6 turns with mean 1 and one with 1/3. Chatter and majority agree on 6 of 7 turns; the chatter
    # says yes always, so chance agrees as often, and kappa is 0.
    sensible, specific, both = found["scores"]
    assert [each["turns"] for each in found["scores"]] == [7, 7, 7]
    assert [each["first"] for each in found["scores"]] == [100, 100, 100]
    assert [each["third"] for each in found["scores"]] == pytest.approx([100 * (6 + 1 / 3) / 7] * 3)
    assert sensible["kappa"]["agree"] == specific["kappa"]["agree"] == pytest.approx(600 / 7)
    by_hand = cohen_kappa([[0, 0], [1, 6]])
    assert isinstance(by_hand, Kappa)
    assert sensible["kappa"]["value"] == pytest.approx(by_hand.value) == pytest.approx(0)
    assert "low" not in sensible["kappa"]  # one conversation tells nothing about others
    assert both["kappa"] is None  # an average is neither yes nor no


def test_labels_of_readers_stay_out_of_the_report_of_the_conversations(read: Dialogue) -> None:
    from exports.turns import labelled_turns
    from reports.queries import judged
    from studies.asks import About

    assert len(judged(read.study, SSA, About.PARTNER_TURN)) == 7
    assert sum(map(len, labelled_turns(read.study))) == 7


def test_the_page_and_the_transcript_show_both(read: Dialogue, rex: User, sign_in: SignIn) -> None:
    browser = sign_in(rex)

    page = browser.get(f"/studies/{read.study_id}/readers/").content.decode()
    transcript = browser.get(f"/dialogues/{read.public_id}/").content.decode()

    assert "cannot be told" in page
    assert page.count(f"/dialogues/{read.public_id}/#turn-") == 7
    assert "<b>No</b> 2, <b>Yes</b> 1" in transcript


def test_a_study_without_readers_says_what_to_do(study: Study, rex: User, sign_in: SignIn) -> None:
    start_dialogue(study)

    assert "Nothing to compare yet." in sign_in(rex).get(f"/studies/{study.pk}/readers/").content.decode()
