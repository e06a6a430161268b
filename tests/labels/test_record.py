"""Labels through the real statement: what is stored, what is refused, and two tabs at once."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from django.db import connection

from bots.client import Reply
from bots.models import Bot
from bots.services import version_of
from chatbots.base import Response
from dialogues.models import Dialogue
from dialogues.place import Place
from dialogues.queries import place_of
from dialogues.refusals import RefusedError
from dialogues.services import close_exchange, open_exchange
from labels.models import Label
from labels.services import record
from tests.conftest import worker_of

GENERIC = {"sensible": True, "specific": False}
SPECIFIC = {"sensible": True, "specific": True}


@pytest.fixture
def place(dialogue: Dialogue, bot: Bot) -> Place:
    """A dialogue of three turns: 0 the opening, 1 the worker's, 2 the bot's."""
    place = place_of(dialogue.public_id, worker_of(dialogue).pk)
    position = open_exchange(place, text="Hello", key=uuid4()).progress.turns
    reply = Reply(Response("Go on."), version_of(bot, {"code": "test"}).pk, latency_ms=1, seed=None)
    close_exchange(place, position=position, reply=reply)
    return place


def test_a_label_is_stored_and_its_turn_no_longer_waits(place: Place) -> None:
    answers, progress = record(place, position=2, answers=GENERIC)

    label = Label.objects.get()
    assert (answers, label.answers, label.changes) == (GENERIC, GENERIC, 0)
    assert (label.rater_id, label.turn.position, label.question_set) == (place.worker_id, 2, "ssa")
    assert (progress.unlabelled, progress.labelled, progress.bot_turns) == ((), 1, 1)


def test_a_changed_label_replaces_the_first_and_is_counted(place: Place) -> None:
    record(place, position=2, answers=GENERIC)
    created_at = Label.objects.get().created_at

    record(place, position=2, answers=SPECIFIC)

    label = Label.objects.get()
    assert (label.answers, label.changes, label.created_at) == (SPECIFIC, 1, created_at)
    assert label.changed_at > created_at


def test_a_label_sent_again_changes_nothing(place: Place) -> None:
    record(place, position=2, answers=GENERIC)
    changed_at = Label.objects.get().changed_at

    record(place, position=2, answers=GENERIC)

    label = Label.objects.get()
    assert (label.changes, label.changed_at) == (0, changed_at)


@pytest.mark.parametrize(
    ("position", "reason"),
    [
        (0, "not_to_label"),
        (1, "not_to_label"),
        (3, "unknown_turn"),
        (-1, "unknown_turn"),
        (10**9, "unknown_turn"),
    ],
)
def test_only_the_bots_counted_turns_are_labelled(place: Place, position: int, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        record(place, position=position, answers=GENERIC)

    assert not Label.objects.exists()
    assert Dialogue.objects.get().unlabelled == [2]


@pytest.mark.django_db(transaction=True)
def test_two_tabs_that_label_at_once_leave_one_label(place: Place) -> None:
    def from_a_tab(number: int) -> None:
        try:
            record(place, position=2, answers=SPECIFIC if number % 2 else GENERIC)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as tabs:
        list(tabs.map(from_a_tab, range(24)))

    assert Label.objects.count() == 1
    assert Dialogue.objects.get().unlabelled == []
