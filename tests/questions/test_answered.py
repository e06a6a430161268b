"""Answers to a researcher's set: checked, stored, counted and computed again, whoever gives them."""

import json
import zipfile
from pathlib import Path
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.core.management import call_command

from evaluation.questions import QuestionSet
from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeQueue, MakeStudy, start_dialogue, worker_of
from tests.desks import begin, held
from tests.planted import add_exchange, bot_of, computed
from tests.questions.conftest import TONE
from turnwise.accounts.models import User
from turnwise.bots.services import version_of
from turnwise.dialogues.models import Dialogue
from turnwise.dialogues.queries import seat_of
from turnwise.judging.queue import services as judging
from turnwise.labels.models import Label
from turnwise.labels.services import record
from turnwise.live.frames import RefusedError
from turnwise.questions import question_sets
from turnwise.questions.services import create_set

pytestmark = pytest.mark.django_db(transaction=True)

POLITE = {"polite": True, "warmth": 5}
RUDE = {"polite": False, "warmth": 2, "why": " Shouts. "}


def _talk(make_study: MakeStudy) -> Dialogue:
    dialogue = start_dialogue(make_study(question_set="tone-v1", min_turns=2, max_turns=8))
    version = version_of(bot_of(dialogue), {"adapter": "scripted"})
    add_exchange(dialogue, version, text="Well", latency=10)
    return dialogue


async def test_a_process_that_has_never_seen_the_set_takes_a_label(rex: User, make_study: MakeStudy) -> None:
    await sync_to_async(create_set)(TONE, owner=rex)
    dialogue = await sync_to_async(_talk)(make_study)
    seat = await sync_to_async(lambda: seat_of(dialogue.public_id, worker_of(dialogue).pk))()
    question_sets.forget_question_sets()

    with pytest.raises(RefusedError, match="“9” is not an answer to “How warm"):
        await record(seat, position=2, answers=POLITE | {"warmth": 9})
    await record(seat, position=2, answers=RUDE)

    label = await Label.objects.aget()
    assert (label.question_set, label.answers) == ("tone-v1", RUDE | {"why": "Shouts."})


def test_judgments_of_an_own_set_are_reported_and_computed_again(
    rex: User, make_queue: MakeQueue, tmp_path: Path
) -> None:
    create_set(TONE, owner=rex)
    study = make_queue(4, raters=2, question_set="tone-v1")
    for answers in (POLITE, RUDE):
        desk = begin(study)
        while items := held(desk):
            judging.judge(desk, key=UUID(items[0]), answers=answers)
        judging.finish(desk)

    stored = computed(study).result

    assert stored
    (system,) = stored["bots"]
    # One of two raters finds each of the four polite; (5 + 2) / 2.
    assert [cell["value"] for cell in system["cells"]] == [50, 3.5]
    path = tmp_path / "bundle.zip"
    call_command("bundle", str(study.pk), output=path)
    again = recompute(path)
    assert (again.report, again.differences) == (stored, [])
    with zipfile.ZipFile(path) as archive:
        (declared,) = json.loads(archive.read("questions.json"))
    assert QuestionSet.from_json(declared) == QuestionSet.from_json(TONE | {"key": "tone-v1"})
