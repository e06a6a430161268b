"""Pictures of a study's conversations: listed beside its texts, removed for good, marked everywhere."""

import zipfile
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.conftest import MakeQueue, MakeStudy
from tests.desks import begin
from tests.exports.test_pictures import sent
from tests.planted import SignIn, talked
from turnwise.accounts.models import Event, User
from turnwise.dialogues.models import Dialogue, MessagePicture, Picture, Turn
from turnwise.dialogues.queries import seat_of, snapshot
from turnwise.exports import bundle_jobs
from turnwise.judging.items import subjects
from turnwise.judging.queue import services as judging
from turnwise.studies.models import Bundle, BundlePart, Study

pytestmark = pytest.mark.django_db(transaction=True)

ACTION = "privacy:remove_pictures"


@pytest.fixture
def study(make_study: MakeStudy) -> Study:
    return make_study(min_turns=4, max_turns=8, takes_pictures=True)


@pytest.fixture
def dialogue(study: Study) -> Dialogue:
    return talked(study, [(True, True), (False, False)])


def page_of(study: Study) -> str:
    return reverse("privacy:texts", args=[study.pk])


def remove(client: Client, study: Study, *keys: object) -> str:
    response = client.post(reverse(ACTION, args=[study.pk]), {"picture": keys}, follow=True)
    return response.content.decode()


def is_stored(content: bytes) -> bool:
    """True if the database holds these bytes as a picture."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM dialogues_picture WHERE content = %s)", [content])
        return bool(cursor.fetchone()[0])


def test_a_removed_picture_is_gone_and_all_pages_say_so(
    study: Study, dialogue: Dialogue, make_queue: MakeQueue, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    removed, other = sent(dialogue), sent(dialogue, 3, kind="PNG")
    readers, client = make_queue(), sign_in(rex)
    subjects.add_turns(readers, study, language="en")
    for each in (study, readers):
        bundle, _is_new = bundle_jobs.request_bundle(each, by=rex)
        bundle_jobs.make(bundle.pk)
    transcript = reverse("labels:transcript", args=[dialogue.public_id])
    addresses = [
        reverse("dialogues:staff_picture", args=[dialogue.public_id, each.pk]) for each in (removed, other)
    ]
    listed = client.get(page_of(study)).content.decode()
    assert [address in listed for address in addresses] == [True, True]
    assert f'href="{transcript}#turn-1"' in listed
    assert "This cannot be undone." in listed

    shown = remove(client, study, removed.pk)

    assert "1 picture is removed." in shown
    assert [address in shown for address in addresses] == [False, True]
    assert [client.get(address).status_code for address in addresses] == [404, 200]
    assert not is_stored(bytes(removed.content))
    assert is_stored(bytes(other.content))
    assert not Bundle.objects.exists()
    assert not BundlePart.objects.exists()
    assert list(Event.objects.filter(action=ACTION).values_list("name", flat=True)) == ["rex"]
    assert "removed pictures" in Event.objects.get(action=ACTION).description
    assert Turn.objects.get(dialogue=dialogue, position=1).text == "Well"
    assert "The picture of this message was erased." in client.get(transcript).content.decode()
    seat = seat_of(dialogue.public_id, dialogue.seats.get(worker__isnull=False).worker_id or 0)
    in_chat = {turn.position: turn.picture["id"] for turn in snapshot(seat)[0] if turn.picture}
    assert in_chat == {1: None, 3: other.pk}
    judged = [each for item in judging.state(begin(readers))["items"] for each in item["pictures"]]
    assert {each["position"]: bool(each["address"]) for each in judged} == {1: False, 3: True}
    call_command("bundle", str(study.pk), output=tmp_path / "bundle.zip")
    with zipfile.ZipFile(tmp_path / "bundle.zip") as bundle_file:
        assert b'"picture": "erased"' in bundle_file.read("data/turns.jsonl").replace(b'":"', b'": "')
        files = [name for name in bundle_file.namelist() if name.startswith("pictures/")]
    assert files == [f"pictures/{other.file_name}"]

    emptied = remove(client, study, other.pk)

    assert "There are no pictures." in emptied
    assert MessagePicture.objects.filter(picture=None).count() == 2


def test_what_is_not_the_studys_is_refused_and_nothing_changes(
    study: Study, dialogue: Dialogue, make_study: MakeStudy, rex: User, mallory: User, sign_in: SignIn
) -> None:
    elsewhere = make_study({"other": 9}, title="Other", min_turns=4, max_turns=8, takes_pictures=True)
    own, foreign = sent(dialogue), sent(talked(elsewhere, [(True, True)] * 2))
    client = sign_in(rex)
    bundle_jobs.request_bundle(study, by=rex)

    assert "No picture is ticked" in remove(client, study)
    for keys in ([own.pk, foreign.pk], [own.pk, 10**15], [own.pk, "x"], [own.pk, "9" * 30]):
        assert "none was removed" in remove(client, study, *keys)
    address = reverse(ACTION, args=[study.pk])
    assert sign_in(mallory).post(address, {"picture": [own.pk]}).status_code == 404
    assert Client().post(address, {"picture": [own.pk]}).status_code == 302
    assert client.get(address).status_code == 405

    assert set(Picture.objects.values_list("pk", flat=True)) == {own.pk, foreign.pk}
    assert MessagePicture.objects.filter(picture=None).count() == 0
    assert Bundle.objects.count() == 1
    assert not Event.objects.filter(action=ACTION).exists()


def test_the_list_asks_no_more_often_for_more_pictures(
    study: Study, dialogue: Dialogue, rex: User, sign_in: SignIn
) -> None:
    client, another = sign_in(rex), talked(study, [(True, True)] * 2)
    sent(dialogue)
    client.get(page_of(study))  # with what is read once

    with CaptureQueriesContext(connection) as few:
        client.get(page_of(study))
    sent(dialogue, 3, colour="red")
    sent(another, colour="blue")
    with CaptureQueriesContext(connection) as many:
        shown = client.get(page_of(study)).content.decode()

    assert shown.count('name="picture"') == 3
    assert [each["sql"][:60] for each in many] == [each["sql"][:60] for each in few]
    assert not any('"dialogues_picture"."content"' in each["sql"] for each in many)
