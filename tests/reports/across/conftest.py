"""Planted conversations of several studies, bots and versions."""

from collections.abc import Mapping
from typing import Any

from bots.services import version_of
from dialogues.models import Dialogue
from dialogues.queries import place_of
from dialogues.services import finish
from studies.models import Study
from tests.conftest import start_dialogue, worker_of
from tests.reports.conftest import add_exchange, add_label

NO, SENSIBLE, BOTH = ((False, False), (True, False), (True, True))


def talk(
    study: Study, planted: Mapping[str, list[Any]], *, details: Mapping[str, Any] | None = None
) -> Dialogue:
    """A finished conversation with the bot whose turn it is; its replies get the labels planted for that bot.

    A label is (sensible, specific), or whether the reply is human-like, as the study asks.
    """
    dialogue = start_dialogue(study)
    place = place_of(dialogue.public_id, worker_of(dialogue).pk)
    bot = dialogue.participants.get(bot__isnull=False).bot
    assert bot
    version = version_of(bot, details or {"adapter": "scripted", "of": bot.name})
    for n, label in enumerate(planted[bot.name]):
        add_exchange(dialogue, version, text="Well", latency=10)
        if study.question_set == "ssa":
            answers = {"sensible": label[0], "specific": label[1]}
        else:
            answers = {"human_like": label}
        add_label(dialogue, position=2 * n + 2, answers=answers)
    finish(place)
    return dialogue
