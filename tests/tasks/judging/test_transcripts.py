"""A study whose way begins with a file of conversations, walked through its pages."""

import re
from uuid import UUID

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from tests.conftest import MakeQueue
from tests.desks import begin, held
from tests.planted import SignIn, computed, figures
from turnwise.accounts.models import User
from turnwise.judging.queue import services as judging
from turnwise.labels.models import Label
from turnwise.studies.models import Study
from turnwise.transcripts import storing
from turnwise.workspace.study_steps import steps_of

pytestmark = pytest.mark.django_db(transaction=True)

FILE = b"""\
Mitsuku Conversation 1
Human: Hi there, how are you?
Mitsuku: I am fine, thank you.

Mitsuku Conversation 2
Human: Hello!
Mitsuku: Good morning.
"""
FORM = {
    "title": "Mitsuku read", "languages": "en", "asks-0-question_set": "ssa",
    "consent_text": "You judge what a chatbot said.", "pay_amount": "0", "pay_currency": "USD",
    "expected_minutes": "10", "practice": "", "pilot_size": "0", "primary_analysis": "all",
    "language_names": "", "times": "1",
}  # fmt: skip


def made(client: Client) -> Study:
    address = f"{reverse('studies:new')}?task=judging&way=transcripts"
    page = client.get(address)
    assert "Judge imported conversations" in page.text
    form = page.context["form"]
    sent = {name: form[name].value() for name in form.fields if form[name].value() not in (None, False)}
    answer = client.post(address, {**_managed(page.text), **sent, **FORM})
    assert answer.status_code == 302, answer.context["form"].errors
    study = Study.objects.get(title="Mitsuku read")
    assert answer.url == reverse("transcripts:imports", args=[study.pk])
    return study


def _managed(page: str) -> dict[str, str]:
    """The numbers that formsets of the page send along."""
    return dict(re.findall(r'name="([^"]+_FORMS)" value="(\d+)"', page))


def steps(study: Study) -> list[tuple[str, str, str]]:
    fresh = Study.objects.get(pk=study.pk)
    return [(step.title, step.says, step.standing.value) for step in steps_of(fresh)][:3]


def test_one_goes_from_the_intention_to_the_report_without_another_study(rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)
    study = made(client)
    assert [(title, standing) for title, _, standing in steps(study)] == [
        ("Import", "next"), ("Choose", "later"), ("Design", "done"),
    ]  # fmt: skip

    upload = reverse("transcripts:upload", args=[study.pk])
    preview = client.post(upload, {"file": SimpleUploadedFile("mitsuku.txt", FILE)}, follow=True)
    record = study.imports.get()
    assert steps(study)[0] == ("Import", "Look at the preview, then import.", "next")
    assert "Import 2 conversations" in preview.text

    sent = {"system-0": "", "system-1": "Mitsuku", "language": "en"}
    client.post(reverse("transcripts:import_confirm", args=[record.pk]), sent)
    storing.import_requested(record.pk)
    assert [step[2] for step in steps(study)] == ["done", "next", "done"]
    page = client.get(reverse("transcripts:import", args=[record.pk])).text
    assert "Choose what is judged of the conversations, and by how many people." in page

    queue = client.get(reverse("judging:queue", args=[study.pk]))
    assert queue.context["conversations_form"]["source"].value() == study.pk
    chosen = {"source": study.pk, "subject": "turn", "language": "en"}
    assert "2 items added." in client.post(reverse("judging:add", args=[study.pk]), chosen, follow=True).text
    assert [step[2] for step in steps(study)] == ["done", "done", "done"]
    client.post(reverse("studies:set_state", args=[study.pk]), {"state": "open"})

    study.refresh_from_db()
    desk = begin(study)
    for key in held(desk):
        judging.judge(desk, key=UUID(key), answers={"sensible": True, "specific": False})
    assert Label.objects.count() == 2
    [bot] = figures(computed(study))["bots"]
    assert (bot["bot"], bot["labels"]) == ("Mitsuku", 2)
    for name in ("workspace:overview", "judging:items", "labels:dialogues", "exports:bundle"):
        assert client.get(reverse(name, args=[study.pk])).status_code == 200, name


def test_a_study_that_began_otherwise_has_no_such_steps(make_queue: MakeQueue) -> None:
    assert steps_of(make_queue(1))[0].title == "Design"


def test_what_nobody_offers_is_no_way(rex: User, sign_in: SignIn) -> None:
    page = sign_in(rex).get(f"{reverse('studies:new')}?task=conversation&way=transcripts")

    assert page.context["beginning"].way == ""
