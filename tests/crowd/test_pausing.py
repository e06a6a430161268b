"""A study that is paused while people are in it, and what its team tells them."""

import json
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import timezone

from tests.conftest import OpenTab, enter, start_dialogue
from turnwise.accounts import credentials
from turnwise.accounts.models import User
from turnwise.crowd.entry import visits
from turnwise.crowd.models import Assignment, Notice, Participation, Pause
from turnwise.crowd.places.assignment import assign
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.crowd.running import pausing
from turnwise.dialogues.models import Dialogue
from turnwise.studies.models import Study
from turnwise.studies.services import archive, set_state


def test_a_paused_study_admits_no_one_and_counts_refused_visits(study: Study, client: Client) -> None:
    before = enter(study)
    pausing.pause(study.pk, holds=False, by="rex")

    for _ in range(2):
        page = client.get(study.get_entry_url())
        assert page.status_code == 403
        assert "The research team has paused it for now" in page.text
        assert Pause.objects.get().turned_away == 0  # a page that nobody may have in sight
    for _ in range(2):
        visits.count_visit(study, visits.visit_ticket(study, "paused"))
    study.refresh_from_db()
    with pytest.raises(EntryRefusedError, match="paused it for now"):
        enter(study)
    with pytest.raises(EntryRefusedError, match="paused it for now"):
        assign(before.pk)

    assert Pause.objects.get().turned_away == 2
    assert Participation.objects.count() == 1
    pausing.resume(study.pk, by="rex")
    assert client.get(study.get_entry_url()).status_code == 200
    assert assign(before.pk).outcome == ""


def test_a_pause_is_refused_where_there_is_nothing_to_pause(study: Study) -> None:
    with pytest.raises(ValidationError, match="is not paused"):
        pausing.resume(study.pk, by="rex")
    set_state(study.pk, Study.State.CLOSED)
    with pytest.raises(ValidationError, match="is not open, so it cannot be paused"):
        pausing.pause(study.pk, holds=True, by="rex")
    set_state(study.pk, Study.State.OPEN)
    pausing.pause(study.pk, holds=True, by="rex")

    with pytest.raises(ValidationError, match="Resume a paused study first"):
        set_state(study.pk, Study.State.CLOSED)
    with pytest.raises(ValidationError, match="Close it first"):
        archive(study.pk)


def test_workers_on_hold_keep_their_place_and_time(study: Study) -> None:
    place = start_dialogue(study).seats.get(worker__isnull=False).assignment
    noon = timezone.now()
    Assignment.objects.filter(pk=place.pk).update(
        assigned_at=noon - timedelta(minutes=9), active_at=noon - timedelta(minutes=1),
        due_at=noon + timedelta(minutes=5), step_due_at=noon + timedelta(minutes=1),
    )  # fmt: skip
    pausing.pause(study.pk, holds=True, by="rex", now=noon)

    pausing.resume(study.pk, by="rex", now=noon + timedelta(hours=3))

    place.refresh_from_db()
    assert place.due_at == noon + timedelta(hours=3, minutes=5)
    assert place.step_due_at == noon + timedelta(hours=3, minutes=1)
    assert place.active_at == noon + timedelta(hours=3)


@pytest.mark.django_db(transaction=True)
async def test_open_pages_are_put_on_hold_immediately(dialogue: Dialogue, open_tab: OpenTab) -> None:
    tab = await open_tab(dialogue)
    study = dialogue.study_id

    await sync_to_async(pausing.pause)(study, holds=False, by="rex")
    assert (await tab.receive("standing"))["paused"]
    assert (await tab.say("Still open to me?"))["type"] == "bot_turn"

    await sync_to_async(pausing.pause)(study, holds=True, by="rex")
    assert (await tab.receive("standing"))["held"]
    refused = await tab.label(2, sensible=True, specific=True)
    assert (refused["reason"], refused["position"]) == ("paused", 2)

    await sync_to_async(pausing.publish_notice)(study, "  Back at\n three. ", by="rex")
    assert (await tab.receive("standing"))["notice"] == "Back at three."
    late = await open_tab(dialogue)
    assert (await late.receive("standing"))["notice"] == "Back at three."

    await sync_to_async(pausing.resume)(study, by="rex")
    assert not (await tab.receive("standing"))["held"]
    assert len((await tab.receive("state"))["turns"]) == 3  # upon which the page sends what it kept
    assert (await tab.label(2, sensible=True, specific=True))["type"] == "label_saved"


def test_a_message_replaces_the_one_before_and_stays_on_the_list(study: Study, rex: User) -> None:
    client = Client()
    client.force_login(rex)
    for text in ("The bots are slow today.", "<b>Fixed.</b>", ""):
        client.post(f"/studies/{study.pk}/message/", {"text": text})

    page = client.get(f"/studies/{study.pk}/monitor/").text
    assert "The bots are slow today." in page
    assert "&lt;b&gt;Fixed.&lt;/b&gt;" in page
    assert [notice.ended_at is None for notice in Notice.objects.all()] == [False, False]
    with pytest.raises(ValidationError, match="has 301 characters; it can have up to 300"):
        pausing.publish_notice(study.pk, "x" * 301, by="rex")


def test_by_the_api(study: Study, rex: User, mallory: User) -> None:
    def call(who: User, method: str, what: str, body: Any = None) -> Any:
        client = Client(headers={"Authorization": f"Bearer {credentials.create_token(who, 'test')}"})
        path = f"/api/studies/{study.code}/{what}"
        return client.generic(method, path, data=json.dumps(body), content_type="application/json")

    assert call(mallory, "POST", "pause", {"hold": True}).status_code == 404
    assert call(rex, "POST", "resume").status_code == 409
    assert call(rex, "POST", "pause", {"hold": True}).json() == {
        "state": "paused", "held": True, "turned_away": 0, "under_way": 0, "message": "",
    }  # fmt: skip
    assert call(rex, "PUT", "message", {"text": "Soon."}).json()["message"] == "Soon."
    assert call(rex, "PUT", "message", {"text": "x" * 301}).status_code == 422
    assert call(rex, "POST", "resume").json()["state"] == "open"
    assert call(rex, "GET", "running").json()["message"] == "Soon."
    without_body = Client(headers={"Authorization": f"Bearer {credentials.create_token(rex, 'other')}"})
    paused = without_body.generic("POST", f"/api/studies/{study.code}/pause").json()
    assert (paused["state"], paused["held"]) == ("paused", False)
    wrong = call(rex, "PUT", "asks", [{"question_set": "ssa", "about": "dialogue", "moment": "end"}]).json()
    assert {each["field"] for each in wrong["errors"]} == {"0.moment"}
    nothing = without_body.generic("PUT", f"/api/studies/{study.code}/message").json()
    assert [each["field"] for each in nothing["errors"]] == ["body"]
    assert "The code of a study is in its link" in call(mallory, "GET", "running").json()["detail"]
