"""Planted conversations, for reports to find again."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.test import Client
from django.utils import timezone

from evaluation.questions import Answer
from tests.conftest import start_dialogue, worker_of
from tests.rewriting import rewriting
from turnwise.accounts.models import User
from turnwise.bots.models import Bot, BotVersion
from turnwise.bots.services import version_of
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.dialogues.queries import seat_of
from turnwise.dialogues.services import finish
from turnwise.labels.models import Label
from turnwise.reports import services
from turnwise.reports.models import Report
from turnwise.studies.asks import Party
from turnwise.studies.models import Ask, Study

SignIn = Callable[[User], Client]
Answers = tuple[bool, bool]


def talked(
    study: Study, labels: list[Answers], *, text: str = "Well", latencies: list[int] | None = None
) -> Dialogue:
    """A finished conversation whose bot turns have these labels."""
    dialogue = start_dialogue(study)
    seat = seat_of(dialogue.public_id, worker_of(dialogue).pk)
    version = version_of(bot_of(dialogue), {"adapter": "scripted"})
    for n, (sensible, specific) in enumerate(labels):
        add_exchange(dialogue, version, text=text, latency=(latencies or [10] * len(labels))[n])
        add_label(dialogue, position=2 * n + 2, answers={"sensible": sensible, "specific": specific})
    finish(seat)
    dialogue.refresh_from_db()
    return dialogue


def bot_of(dialogue: Dialogue) -> Bot:
    """The bot that sits in a conversation of a worker and a bot."""
    bot = dialogue.seats.get(bot__isnull=False).bot
    assert bot
    return bot


def add_exchange(dialogue: Dialogue, version: BotVersion, *, text: str, latency: int) -> None:
    dialogue.refresh_from_db()
    at = timezone.now()
    human, bot = dialogue.turns, dialogue.turns + 1
    Turn.objects.create(dialogue=dialogue, position=human, text=text, key=uuid4(), created_at=at)
    Turn.objects.create(
        dialogue=dialogue, position=bot, text=text, bot_version=version, latency_ms=latency, created_at=at
    )
    Dialogue.objects.filter(pk=dialogue.pk).update(
        turns=bot + 1, bot_turns=dialogue.bot_turns + 1, due_1=[*dialogue.due_1, 32 * bot]
    )


def ask_of(study: Study, questions: str = "") -> Ask:
    """The ask of a study with these questions, or its first."""
    return study.asks.get(question_set=questions) if questions else study.asks.get(number=0)


def ask_instead(study: Study, questions: str) -> None:
    """Put other questions in all asks and labels of a study, behind the platform's back."""
    with transaction.atomic():
        study.asks.update(question_set=questions)
        with rewriting():
            study.labels.update(question_set=questions)


def add_label(dialogue: Dialogue, *, position: int, answers: dict[str, Answer]) -> None:
    dialogue.refresh_from_db()
    at = timezone.now()
    Label.objects.create(
        turn=dialogue.turn_set.get(position=position), rater=worker_of(dialogue), study=dialogue.study,
        party=Party.CHATTER, ask=ask_of(dialogue.study), question_set=dialogue.study.question_set,
        answers=answers, created_at=at, changed_at=at,
    )  # fmt: skip
    due = [waits for waits in dialogue.due_1 if waits != 32 * position]
    Dialogue.objects.filter(pk=dialogue.pk).update(due_1=due)


def figures(report: Report | None) -> dict[str, Any]:
    """What a report says that is there and done."""
    assert report
    assert report.result is not None
    return report.result


def computed(study: Study) -> Report:
    study.refresh_from_db()
    report = services.queue_report(study)
    services.build_report(report.pk)
    report.refresh_from_db()
    return report


def with_report_of_two(study: Study) -> Study:
    """The study, with a report of two conversations: of four replies three are sensible, two specific."""
    for labels in ([(True, True), (True, False)], [(False, False), (True, True)]):
        talked(study, labels, text="Scripted & <safe>")
    computed(study)
    return study
