"""What an admin writes by hand reaches the report; what only services may write cannot be written."""

import re

import pytest
from django.test import Client

from accounts.models import User
from crowd.models import Worker
from dialogues.models import Dialogue, Turn
from labels.models import JudgingPlan, Label
from responses.models import Response
from studies.models import Study
from tests.conftest import MakeQueue, start_dialogue
from tests.reports.conftest import SignIn, add_exchange, add_label, computed, talked

pytestmark = pytest.mark.django_db(transaction=True)
YES = {"post": "yes"}


@pytest.fixture
def admin(ada: User, sign_in: SignIn) -> Client:
    return sign_in(ada)


@pytest.fixture
def reported(short: Study) -> Study:
    """Four replies: three sensible, one specific."""
    talked(short, [(True, True), (True, False)])
    talked(short, [(True, False), (False, False)])
    computed(short)
    short.refresh_from_db()
    return short


def values(study: Study) -> list[float]:
    return [cell["value"] for cell in computed(study).result["bots"][0]["cells"]]


def moved_on(study: Study) -> bool:
    before = study.results_version
    study.refresh_from_db()
    return study.results_version > before


def test_a_label_deleted_by_an_admin_is_missed_by_the_report(reported: Study, admin: Client) -> None:
    wrong = Label.objects.get(answers__sensible=False)

    admin.post(f"/admin/labels/label/{wrong.pk}/delete/", YES)

    assert moved_on(reported)
    assert values(reported)[0] == 100


def test_labels_deleted_together_are_missed_by_the_report(reported: Study, admin: Client) -> None:
    both = Label.objects.filter(answers__specific=False, answers__sensible=True)
    chosen = {"action": "delete_selected", "_selected_action": [label.pk for label in both]}

    admin.post("/admin/labels/label/", chosen | YES)

    assert moved_on(reported)
    # one sensible and specific, one neither
    assert values(reported) == [50, 50, 50]


def test_a_label_amended_by_an_admin_changes_the_report(reported: Study, admin: Client) -> None:
    wrong = Label.objects.get(answers__sensible=False)

    admin.post(
        f"/admin/labels/label/{wrong.pk}/change/", {"answers": '{"sensible": true, "specific": false}'}
    )

    wrong.refresh_from_db()
    assert moved_on(reported)
    assert (wrong.answers, wrong.changes) == ({"sensible": True, "specific": False}, 1)
    assert values(reported)[0] == 100


def test_answers_that_no_question_has_are_refused_in_words(reported: Study, admin: Client) -> None:
    label = Label.objects.filter(answers__sensible=False).get()

    page = admin.post(f"/admin/labels/label/{label.pk}/change/", {"answers": '{"funny": true}'})

    label.refresh_from_db()
    assert "funny" in page.content.decode()
    assert label.answers == {"sensible": False, "specific": False}
    assert not moved_on(reported)


def test_a_reply_waits_for_a_label_again_once_its_label_is_deleted(short: Study, admin: Client) -> None:
    dialogue = start_dialogue(short)
    version = talked(short, [(True, True)]).turn_set.get(bot_version__isnull=False, position=2).bot_version
    assert version
    add_exchange(dialogue, version, text="Well", latency=1)
    add_label(dialogue, position=2, answers={"sensible": True, "specific": True})

    admin.post(f"/admin/labels/label/{Label.objects.get(turn__dialogue=dialogue).pk}/delete/", YES)

    dialogue.refresh_from_db()
    assert dialogue.unlabelled == [2]


def test_a_worker_deleted_by_an_admin_takes_conversations_and_labels_along(
    reported: Study, admin: Client
) -> None:
    worker = Worker.objects.get(labels__answers__sensible=False)

    admin.post(f"/admin/crowd/worker/{worker.pk}/delete/", YES)

    assert moved_on(reported)
    assert not Worker.objects.filter(pk=worker.pk).exists()
    assert Dialogue.objects.filter(study=reported).count() == 1
    assert values(reported) == [100, 50, 75]


@pytest.mark.parametrize("what", ["dialogues/turn", "dialogues/dialogue", "dialogues/participant"])
def test_conversations_are_shown_and_not_written(reported: Study, admin: Client, what: str) -> None:
    app, model = what.split("/")
    row = {"turn": Turn, "dialogue": Dialogue}.get(model, Dialogue).objects.first()
    assert row
    pk = row.pk if model != "participant" else row.participants.first().pk

    assert admin.get(f"/admin/{app}/{model}/{pk}/change/").status_code == 200
    assert admin.post(f"/admin/{app}/{model}/{pk}/change/", {"text": "Other"}).status_code == 403
    assert admin.post(f"/admin/{app}/{model}/{pk}/delete/", YES).status_code == 403
    assert admin.get(f"/admin/{app}/{model}/add/").status_code == 403


def test_what_people_agreed_to_and_with_whom_they_talked_stays(reported: Study, admin: Client) -> None:
    consent, study_bot = reported.consent_versions.get(), reported.study_bots.get()
    participation = reported.participations.first()
    assert participation
    for path in (
        f"studies/consentversion/{consent.pk}",
        f"studies/studybot/{study_bot.pk}",
        f"studies/study/{reported.pk}",
        f"crowd/participation/{participation.pk}",
    ):
        page = admin.get(f"/admin/{path}/change/").content.decode()
        assert not re.search(r'name="(study_bots-\d+-bot|text|bot|worker|study|consent)"', page), path
    assert admin.post(f"/admin/studies/consentversion/{consent.pk}/change/", {"text": "x"}).status_code == 403
    assert admin.get("/admin/crowd/participation/add/").status_code == 403


def test_responses_are_not_written_after_they_were_judged(make_queue: MakeQueue, admin: Client) -> None:
    make_queue(1)
    response = Response.objects.get()

    for row in (f"responses/response/{response.pk}", f"responses/responserun/{response.run_id}"):
        assert admin.get(f"/admin/{row}/change/").status_code == 200
        assert admin.post(f"/admin/{row}/change/", {"text": "Other"}).status_code == 403


def test_a_plan_changed_by_an_admin_gives_every_item_its_slots(make_queue: MakeQueue, admin: Client) -> None:
    study = make_queue(2, raters=1)
    plan = JudgingPlan.objects.get(study=study)
    values = {"study": study.pk, "raters_per_item": 3, "batch_size": 50, "lease_seconds": 600}

    admin.post(f"/admin/labels/judgingplan/{plan.pk}/change/", values)

    assert [item.slots.count() for item in study.items.all()] == [3, 3]
