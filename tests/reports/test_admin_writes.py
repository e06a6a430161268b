"""What an admin writes by hand reaches the report; what only services may write cannot be written."""

import re

import pytest
from django.test import Client

from tests.conftest import MakeQueue, MakeStudy, MakeVersion
from tests.planted import SignIn, computed, figures
from turnwise.accounts.models import User
from turnwise.crowd.models import Worker
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.judging.models import JudgingPlan
from turnwise.labels.models import Label
from turnwise.responses.models import Response
from turnwise.studies.models import Study
from turnwise.tasks.writing.models import WritingPlan

pytestmark = pytest.mark.django_db(transaction=True)
YES = {"post": "yes"}


@pytest.fixture
def admin(ada: User, sign_in: SignIn) -> Client:
    return sign_in(ada)


def values(study: Study) -> list[float]:
    return [cell["value"] for cell in figures(computed(study))["bots"][0]["cells"]]


def moved_on(study: Study) -> bool:
    before = study.results_version
    study.refresh_from_db()
    return study.results_version > before


def test_no_label_is_deleted_by_an_admin(reported: Study, admin: Client) -> None:
    one = Label.objects.get(answers__sensible=False)
    chosen = {"action": "delete_selected", "_selected_action": [one.pk]}

    assert admin.post(f"/admin/labels/label/{one.pk}/delete/", YES).status_code == 403
    admin.post("/admin/labels/label/", chosen | YES)

    assert Label.objects.count() == 4
    assert not moved_on(reported)


def test_nobody_can_change_a_raters_answer_in_the_admin(reported: Study, admin: Client) -> None:
    label = Label.objects.get(answers__sensible=False)

    page = admin.get(f"/admin/labels/label/{label.pk}/change/")
    sent = {"answers": '{"sensible": true, "specific": false}'}
    refused = admin.post(f"/admin/labels/label/{label.pk}/change/", sent)

    label.refresh_from_db()
    assert (page.status_code, refused.status_code) == (200, 403)
    assert b"<textarea" not in page.content
    assert (label.answers, label.changes) == ({"sensible": False, "specific": False}, 0)
    assert not moved_on(reported)


def test_a_study_renamed_by_an_admin_is_renamed_in_its_report(reported: Study, admin: Client) -> None:
    address = f"/admin/studies/study/{reported.pk}/change/"
    form = admin.get(address).context["adminform"].form
    inline = admin.get(address).context["inline_admin_formsets"][0].formset
    fields = {
        bound.html_name: bound.value()
        for each in (form, inline.management_form, *inline.forms)
        for bound in each
        if bound.value() is not None
    }

    answer = admin.post(address, fields | {"title": "Renamed"})

    assert answer.status_code == 302, answer.context["errors"]
    assert moved_on(reported)
    assert reported.title == "Renamed"


def test_a_writing_plan_is_changed_in_a_draft_only_and_never_deleted(
    make_version: MakeVersion, make_study: MakeStudy, admin: Client
) -> None:
    plan = WritingPlan.objects.create(study=make_study(), context_version=make_version(2), batch_size=2)
    address = f"/admin/tasks/writingplan/{plan.pk}"

    opened = [admin.post(f"{address}/change/", {"batch_size": 1}), admin.post(f"{address}/delete/", YES)]
    Study.objects.update(state=Study.State.DRAFT)
    drafted = [admin.get(f"{address}/change/"), admin.get(f"{address}/delete/")]

    assert [each.status_code for each in opened] == [403, 403]
    assert [each.status_code for each in drafted] == [200, 403]
    assert WritingPlan.objects.get().batch_size == 2


def test_deleting_a_worker_deletes_their_conversations_and_labels(reported: Study, admin: Client) -> None:
    worker = Worker.objects.get(labels__answers__sensible=False)

    admin.post(f"/admin/crowd/worker/{worker.pk}/delete/", YES)

    assert moved_on(reported)
    assert not Worker.objects.filter(pk=worker.pk).exists()
    assert Dialogue.objects.filter(study=reported).count() == 1
    assert values(reported) == [100, 50, 75]


@pytest.mark.parametrize("what", ["dialogues/turn", "dialogues/dialogue", "dialogues/seat"])
def test_conversations_are_view_only_in_the_admin(reported: Study, admin: Client, what: str) -> None:
    app, model = what.split("/")
    row = {"turn": Turn, "dialogue": Dialogue}.get(model, Dialogue).objects.first()
    assert row
    pk = row.pk if model != "seat" else row.seats.first().pk

    assert admin.get(f"/admin/{app}/{model}/{pk}/change/").status_code == 200
    assert admin.post(f"/admin/{app}/{model}/{pk}/change/", {"text": "Other"}).status_code == 403
    assert admin.post(f"/admin/{app}/{model}/{pk}/delete/", YES).status_code == 403
    assert admin.get(f"/admin/{app}/{model}/add/").status_code == 403


def test_consents_and_partners_cannot_be_changed_in_the_admin(reported: Study, admin: Client) -> None:
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


def test_judged_responses_cannot_be_changed_in_the_admin(make_queue: MakeQueue, admin: Client) -> None:
    make_queue(1)
    response = Response.objects.get()

    for row in (f"responses/response/{response.pk}", f"responses/responserun/{response.run_id}"):
        assert admin.get(f"/admin/{row}/change/").status_code == 200
        assert admin.post(f"/admin/{row}/change/", {"text": "Other"}).status_code == 403


def test_a_plan_changed_by_an_admin_gives_every_item_its_slots(make_queue: MakeQueue, admin: Client) -> None:
    study = make_queue(2, raters=1)
    plan = JudgingPlan.objects.get(study=study)
    values = {"study": study.pk, "raters_per_item": 3, "batch_size": 50, "lease_seconds": 600}
    values["training_tries"] = values["gold_items"] = 0

    admin.post(f"/admin/judging/judgingplan/{plan.pk}/change/", values)

    assert [item.slots.count() for item in study.items.all()] == [3, 3]
