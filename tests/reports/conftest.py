"""Planted conversations, for reports to find again."""

import io
import os
from collections import Counter
from collections.abc import Callable
from uuid import uuid4

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts.models import User
from bots.models import BotVersion
from bots.services import version_of
from dialogues.models import Dialogue, Turn
from dialogues.queries import place_of
from dialogues.services import finish
from evaluation.questions import Answer
from labels.models import Label
from reports import services
from reports.models import Report
from studies.models import Study
from tests.conftest import MakeStudy, start_dialogue, worker_of

SignIn = Callable[[User], Client]
Answers = tuple[bool, bool]


def talked(
    study: Study, labels: list[Answers], *, text: str = "Well", latencies: list[int] | None = None
) -> Dialogue:
    """A finished conversation whose bot turns have these labels."""
    dialogue = start_dialogue(study)
    place = place_of(dialogue.public_id, worker_of(dialogue).pk)
    version = version_of(dialogue.participants.get(bot__isnull=False).bot, {"adapter": "scripted"})
    for n, (sensible, specific) in enumerate(labels):
        add_exchange(dialogue, version, text=text, latency=(latencies or [10] * len(labels))[n])
        add_label(dialogue, position=2 * n + 2, answers={"sensible": sensible, "specific": specific})
    finish(place)
    dialogue.refresh_from_db()
    return dialogue


def add_exchange(dialogue: Dialogue, version: BotVersion, *, text: str, latency: int) -> None:
    dialogue.refresh_from_db()
    at = timezone.now()
    human, bot = dialogue.turns, dialogue.turns + 1
    Turn.objects.create(dialogue=dialogue, position=human, text=text, key=uuid4(), created_at=at)
    Turn.objects.create(
        dialogue=dialogue, position=bot, text=text, bot_version=version, latency_ms=latency, created_at=at
    )
    Dialogue.objects.filter(pk=dialogue.pk).update(
        turns=bot + 1, bot_turns=dialogue.bot_turns + 1, unlabelled=[*dialogue.unlabelled, bot]
    )


def add_label(dialogue: Dialogue, *, position: int, answers: dict[str, Answer]) -> None:
    dialogue.refresh_from_db()
    at = timezone.now()
    Label.objects.create(
        turn=dialogue.turn_set.get(position=position), rater=worker_of(dialogue),
        question_set=dialogue.question_set, answers=answers, created_at=at, changed_at=at,
    )  # fmt: skip
    unlabelled = [waits for waits in dialogue.unlabelled if waits != position]
    Dialogue.objects.filter(pk=dialogue.pk).update(unlabelled=unlabelled)


def computed(study: Study) -> Report:
    study.refresh_from_db()
    report = services.queue_report(study)
    services.build_report(report.pk)
    report.refresh_from_db()
    return report


@pytest.fixture
def short(make_study: MakeStudy) -> Study:
    return make_study({"scripty": 100}, min_turns=2, max_turns=8)


@pytest.fixture
def _same_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server that a rehearsal starts finds the database of the tests."""
    name = connection.settings_dict["NAME"]
    address, mark, query = os.environ["DATABASE_URL"].partition("?")
    monkeypatch.setenv("DATABASE_URL", f"{address.rpartition('/')[0]}/{name}{mark}{query}")


def rehearsed(study: Study, *options: str) -> str:
    said = io.StringIO()
    call_command("rehearse", str(study.pk), *options, stdout=said)
    return said.getvalue()


def rows() -> Counter[str]:
    """How many rows every table of ours has."""
    ours = [model for model in apps.get_models() if model.__module__.split(".")[0] in OURS]
    return Counter({model.__name__: model.objects.count() for model in ours})  # type: ignore[attr-defined]


OURS = ("bots", "studies", "crowd", "dialogues", "labels", "reports")
