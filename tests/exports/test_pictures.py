"""Pictures of messages: in transcripts, files, bundles, at raters, in the participant's data, and erased."""

import base64
import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import reverse

from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeQueue, MakeStudy, session_cookie
from tests.desks import begin
from tests.pictures import browser_of, picture
from tests.planted import SignIn, computed, talked
from tests.rewriting import rewriting
from turnwise.accounts.models import User
from turnwise.crowd.entry.sessions import COOKIE
from turnwise.crowd.models import Participation, Worker
from turnwise.dialogues import pictures
from turnwise.dialogues.models import Dialogue, MessagePicture, Picture, Turn
from turnwise.dialogues.picture_files import reencode
from turnwise.exports.turn_files import csv_lines, jsonl_lines
from turnwise.judging.items import subjects
from turnwise.judging.queue import services as judging
from turnwise.privacy.erasure import erase_ids
from turnwise.privacy.stored_data import stored_data_of
from turnwise.privacy.withdrawal import withdraw
from turnwise.studies.asks import About, AskSpec
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)


def sent(dialogue: Dialogue, position: int = 1, **options: Any) -> Picture:
    """A picture that was sent with the message at this position."""
    encoded = reencode(picture(**options))
    with rewriting():
        Dialogue.objects.filter(pk=dialogue.pk).update(ended_at=None, ending="")
    stored = pictures.store(participation_in(dialogue), encoded)
    Dialogue.objects.filter(pk=dialogue.pk).update(ended_at=dialogue.ended_at, ending=dialogue.ending)
    MessagePicture.objects.create(turn=dialogue.turn_set.get(position=position), picture=stored)
    return stored


def participation_in(dialogue: Dialogue) -> Participation:
    found = dialogue.participation
    assert found
    return Participation.objects.select_related("worker", "study", "assignment").get(pk=found.pk)


@pytest.fixture
def study(make_study: MakeStudy) -> Study:
    return make_study(min_turns=4, max_turns=8, takes_pictures=True)


@pytest.fixture
def dialogue(study: Study) -> Dialogue:
    return talked(study, [(True, True), (False, False)])


def test_the_transcript_shows_them_to_the_team_alone(
    dialogue: Dialogue, rex: User, mallory: User, sign_in: SignIn
) -> None:
    stored = sent(dialogue)
    address = reverse("dialogues:staff_picture", args=[dialogue.public_id, stored.pk])

    page = sign_in(rex).get(reverse("labels:transcript", args=[dialogue.public_id])).content.decode()

    assert f'src="{address}"' in page
    assert bytes(sign_in(rex).get(address).content) == bytes(stored.content)
    assert sign_in(mallory).get(address).status_code == 404
    assert browser_of(dialogue).get(address).status_code == 302  # to sign in
    elsewhere = reverse("dialogues:staff_picture", args=["0" * 8 + "-0000-4000-8000-" + "0" * 12, stored.pk])
    assert sign_in(rex).get(elsewhere).status_code == 404


def test_the_bundle_has_their_files_and_the_tables_name_them(
    study: Study, dialogue: Dialogue, tmp_path: Path
) -> None:
    stored, other = sent(dialogue), sent(dialogue, 3, kind="PNG")
    Picture.objects.filter(pk=stored.pk).update(description="A wall")
    computed(study)
    call_command("bundle", str(study.pk), output=tmp_path / "bundle.zip")

    with zipfile.ZipFile(tmp_path / "bundle.zip") as bundle:
        rows = [json.loads(line) for line in bundle.read("data/turns.jsonl").splitlines()]
        files = {name: bundle.read(name) for name in bundle.namelist() if name.startswith("pictures/")}
        listed = {each["path"]: each for each in json.loads(bundle.read("datapackage.json"))["resources"]}
        described = json.loads(bundle.read("study.json"))

    names = [f"pictures/{stored.sha256}.jpg", f"pictures/{other.sha256}.png"]
    assert [row["picture"] for row in rows] == [None, names[0], None, names[1], None]
    assert [row["picture_description"] for row in rows] == [None, "A wall", None, None, None]
    assert files == {names[0]: bytes(stored.content), names[1]: bytes(other.content)}
    assert listed[names[0]]["mediatype"] == "image/jpeg"
    assert described["protocol"]["takes_pictures"] is True
    assert recompute(tmp_path / "bundle.zip").differences == []


def test_the_files_of_labels_name_the_picture_of_the_message_before(study: Study, dialogue: Dialogue) -> None:
    stored = sent(dialogue)

    rows = list(csv.DictReader(io.StringIO("".join(csv_lines(study)))))
    lines = [json.loads(line) for line in b"".join(jsonl_lines(study)).splitlines()]

    assert [row["picture"] for row in rows] == [f"pictures/{stored.sha256}.jpg", ""]
    assert [line["picture"] for line in lines] == [f"pictures/{stored.sha256}.jpg", None]


@pytest.mark.parametrize("is_whole", [False, True], ids=["turns", "conversations"])
def test_the_bundle_of_readers_has_the_pictures_that_they_saw(
    dialogue: Dialogue, make_queue: MakeQueue, tmp_path: Path, *, is_whole: bool
) -> None:
    stored, erased = sent(dialogue), sent(dialogue, 3, kind="PNG")
    erased.delete()
    asks = [AskSpec("likert", About.DIALOGUE)] if is_whole else []
    readers: Study = make_queue(asks=asks)
    (subjects.add_dialogues if is_whole else subjects.add_turns)(readers, dialogue.study, language="en")
    call_command("bundle", str(readers.pk), output=tmp_path / "bundle.zip")

    with zipfile.ZipFile(tmp_path / "bundle.zip") as bundle:
        rows = [json.loads(line) for line in bundle.read("data/item_pictures.jsonl").splitlines()]
        files = {name: bundle.read(name) for name in bundle.namelist() if name.startswith("pictures/")}

    name = f"pictures/{stored.sha256}.jpg"
    assert [(row["dialogue"], row["turn"], row["picture"]) for row in rows] == [
        (str(dialogue.public_id), 1, name),
        (str(dialogue.public_id), 3, "erased"),
    ]
    assert files == {name: bytes(stored.content)}


def test_raters_see_them_beside_what_they_judge(dialogue: Dialogue, make_queue: MakeQueue) -> None:
    stored = sent(dialogue)
    readers = make_queue()
    subjects.add_turns(readers, dialogue.study, language="en")
    desk = begin(readers)

    items = judging.state(desk)["items"]

    shown = [each for item in items for each in item.get("pictures", [])]
    assert [(each["side"], each["position"]) for each in shown] == [(0, 1), (0, 1)]
    rater = Worker.objects.get(participations=desk.participation_id)
    client = browser_of(dialogue)
    assert client.get(shown[0]["address"]).status_code == 404  # given to the rater
    client.cookies[COOKIE] = session_cookie(rater)
    assert bytes(client.get(shown[0]["address"]).content) == bytes(stored.content)


def test_whole_conversations_have_them_too(dialogue: Dialogue, make_queue: MakeQueue) -> None:
    stored = sent(dialogue)
    readers = make_queue(question_set="likert")
    subjects.add_dialogues(readers, dialogue.study, language="en")
    desk = begin(readers)

    (item,) = judging.state(desk)["items"]

    assert [(each["position"], each["width"]) for each in item["pictures"]] == [(1, stored.width)]


def test_the_participant_gets_their_pictures_and_nobody_elses(dialogue: Dialogue) -> None:
    stored = sent(dialogue)
    own = participation_in(dialogue)

    turns = stored_data_of(own)["conversation"]["turns"]
    page = browser_of(dialogue).get(own.data_link).content.decode()

    encoded = base64.b64encode(stored.content).decode()
    assert turns[1]["picture"] == {"media_type": "image/jpeg", "base64": encoded, "description": ""}
    assert "picture" not in turns[0]
    assert f"data:image/jpeg;base64,{encoded}" in page


def test_a_withdrawal_removes_them(dialogue: Dialogue) -> None:
    stored = sent(dialogue)
    own = participation_in(dialogue)
    address = pictures.address_for(stored.pk, own.pk)
    client = browser_of(dialogue)
    assert client.get(address).status_code == 200

    withdraw(own.pk)

    assert not Picture.objects.exists()
    assert not MessagePicture.objects.exists()
    assert client.get(address).status_code == 404


def test_erased_ids_take_the_pictures_along_and_leave_a_mark(
    study: Study, dialogue: Dialogue, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    sent(dialogue)
    erase_ids(participation_in(dialogue).pk)
    computed(study)
    call_command("bundle", str(study.pk), output=tmp_path / "bundle.zip")

    page = sign_in(rex).get(reverse("labels:transcript", args=[dialogue.public_id])).content.decode()
    with zipfile.ZipFile(tmp_path / "bundle.zip") as bundle:
        rows = [json.loads(line) for line in bundle.read("data/turns.jsonl").splitlines()]
        names = bundle.namelist()

    assert not Picture.objects.exists()
    assert "The picture of this message was erased." in page
    assert [row["picture"] for row in rows] == [None, "erased", None, None, None]
    assert not any(name.startswith("pictures/") for name in names)
    assert Turn.objects.filter(dialogue=dialogue, position=1).get().text == "Well"
