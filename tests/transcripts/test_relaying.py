"""A volunteer talks to a chatbot on another website and carries both sides over."""

from collections.abc import Callable

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from tests.conftest import MakeStudy
from tests.rewriting import rewriting
from turnwise.accounts.models import User
from turnwise.crowd.models import Worker
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.dialogues.queries import outside_dialogue_counts
from turnwise.labels.models import Label
from turnwise.reports.conduct import courses
from turnwise.studies.asks import Party
from turnwise.studies.models import Study
from turnwise.transcripts import relaying
from turnwise.transcripts.importing import ImportRefusedError
from turnwise.transcripts.relaying import RelayRefusedError, add_turn, discard, finish, replace_turns

SignIn = Callable[[User], Client]


@pytest.fixture
def study(make_study: MakeStudy) -> Study:
    """At least 2 turns of the chatbot, at most 6 turns after the opening."""
    return make_study(min_turns=4, max_turns=6)


@pytest.fixture
def relayed(study: Study) -> Dialogue:
    return relaying.begin(study, system="Mitsuku", by=study.owner)


def texts(dialogue: Dialogue) -> list[str]:
    return list(dialogue.turn_set.order_by("position").values_list("text", flat=True))


def say(dialogue: Dialogue, *said: str) -> None:
    for text in said:
        dialogue.refresh_from_db()
        add_turn(dialogue.pk, position=dialogue.turns, text=text)
    dialogue.refresh_from_db()


def test_the_human_says_the_opening_first(relayed: Dialogue) -> None:
    human, system = relayed.seats.order_by("number")

    assert texts(relayed) == ["Hi!"]
    assert (relayed.origin, relayed.turns, relayed.opening_turns, relayed.bot_turns) == ("relayed", 1, 1, 0)
    assert human.name == "Volunteer"
    assert str(system.bot) == "Mitsuku"


def test_turns_alternate_and_those_of_the_chatbot_are_to_be_judged(relayed: Dialogue) -> None:
    say(relayed, "Hi there.", "How are you?", "Fine.")

    judged = relayed.turn_set.filter(bot_version__isnull=False).order_by("position")
    assert [(turn.position, turn.text) for turn in judged] == [(1, "Hi there."), (3, "Fine.")]
    assert (relayed.turns, relayed.bot_turns) == (4, 2)


def test_a_turn_sent_twice_is_saved_once(relayed: Dialogue) -> None:
    add_turn(relayed.pk, position=1, text="Hi there.")
    add_turn(relayed.pk, position=1, text="Hi there. ")

    assert texts(relayed) == ["Hi!", "Hi there."]


def test_a_turn_from_another_tab_is_not_overwritten(relayed: Dialogue) -> None:
    add_turn(relayed.pk, position=1, text="Hi there.")

    with pytest.raises(RelayRefusedError, match="Yours was not: “Something else”"):
        add_turn(relayed.pk, position=1, text="Something else")

    assert texts(relayed) == ["Hi!", "Hi there."]


@pytest.mark.parametrize(("text", "says"), [(" \x00 ", "is empty"), ("x" * 32001, "32001 characters")])
def test_a_turn_that_cannot_be_stored_is_refused(relayed: Dialogue, text: str, says: str) -> None:
    with pytest.raises(RelayRefusedError, match=says):
        add_turn(relayed.pk, position=1, text=text)


def test_the_limits_of_the_study_hold(relayed: Dialogue) -> None:
    say(relayed, "b1")
    with pytest.raises(RelayRefusedError, match="the chatbot has to speak 1 more"):
        finish(relayed.pk)
    say(relayed, "h2", "b2", "h3", "b3", "h4")

    with pytest.raises(RelayRefusedError, match="allows 7, the opening included"):
        add_turn(relayed.pk, position=7, text="b4")
    with pytest.raises(IntegrityError, match="dialogue_within_max_turns"), transaction.atomic():
        Dialogue.objects.filter(pk=relayed.pk).update(turns=8)


def test_a_finished_conversation_counts_and_stays_as_it_is(study: Study, relayed: Dialogue) -> None:
    say(relayed, "b1", "h2", "b2")

    finish(relayed.pk)
    finish(relayed.pk)

    relayed.refresh_from_db()
    assert relayed.ending == "complete"
    assert courses(study)["Mitsuku"].finished == 1
    assert outside_dialogue_counts(study) == [("Mitsuku", "Relayed by hand from another website", 1)]
    with pytest.raises(RelayRefusedError, match="is finished"):
        add_turn(relayed.pk, position=4, text="h3")
    with pytest.raises(RelayRefusedError, match="is finished"):
        replace_turns(relayed.pk, [(True, "Hi!")])


def test_corrected_turns_take_the_place_of_the_saved_ones(relayed: Dialogue) -> None:
    say(relayed, "wrong", "worse")

    replace_turns(
        relayed.pk, [(True, "Hi!"), (False, "a"), (False, "b"), (True, " "), (False, "c"), (True, "d")]
    )

    relayed.refresh_from_db()
    assert texts(relayed) == ["Hi!", "a\nb\nc", "d"]
    assert (relayed.turns, relayed.bot_turns) == (3, 1)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([(False, "Hi!")], "first turn must be yours"),
        ([], "first turn must be yours"),
        ([(n % 2 == 0, "x") for n in range(8)], "would be 8 turns"),
        ([(True, "Hi!"), (False, "x" * 20000), (False, "x" * 20000)], "40001 characters"),
    ],
)
def test_refused_corrections_leave_the_turns_alone(
    relayed: Dialogue, rows: list[tuple[bool, str]], says: str
) -> None:
    say(relayed, "b1")

    with pytest.raises(RelayRefusedError, match=says):
        replace_turns(relayed.pk, rows)

    assert texts(relayed) == ["Hi!", "b1"]


def test_a_conversation_is_deleted_unless_somebody_judged_it(study: Study, relayed: Dialogue) -> None:
    say(relayed, "b1")
    now = timezone.now()
    label = Label.objects.create(
        study=study,
        party=Party.CHATTER,
        ask=study.asks.get(),
        question_set="ssa",
        turn=Turn.objects.get(text="b1"),
        rater=Worker.objects.create(),
        answers={"sensible": True, "specific": True},
        created_at=now,
        changed_at=now,
    )
    with pytest.raises(ImportRefusedError, match="never discarded"):
        discard(relayed.pk, by=relayed.study.owner)
    with rewriting():
        label.delete()

    discard(relayed.pk, by=relayed.study.owner)

    assert not Dialogue.objects.exists()
    assert not study.study_bots.filter(bot__title="Mitsuku").exists()


# --- the pages ------------------------------------------------------------------------------------


def test_a_conversation_is_relayed_turn_by_turn(study: Study, rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)
    refused = client.post(f"/studies/{study.pk}/relay/", {"system": "Mitsuku"}, follow=True)
    assert "Reset the chatbot first" in refused.content.decode()
    assert not Dialogue.objects.exists()

    client.post(f"/studies/{study.pk}/relay/", {"system": "Mitsuku", "was_reset": "on"})
    dialogue = Dialogue.objects.get()
    for position, text in enumerate(["Hi there.", "How are you?", "Fine."], 1):
        client.post(f"/relays/{dialogue.pk}/turn/", {"position": position, "text": text})
    page = client.post(f"/relays/{dialogue.pk}/turn/", {"position": "", "text": "lost?"})
    assert page.status_code == 422
    assert page.content.decode().count("lost?") == 2  # said in the error, kept in the box
    done = client.post(f"/relays/{dialogue.pk}/finish/", follow=True)

    assert "Others can judge it now." in done.content.decode()
    assert texts(dialogue) == ["Hi!", "Hi there.", "How are you?", "Fine."]
    assert "Relayed by hand" in client.get(f"/studies/{study.pk}/").content.decode()
    assert "Relayed by hand" in client.get(f"/studies/{study.pk}/report/").content.decode()
    transcript = client.get(f"/dialogues/{dialogue.public_id}/").content.decode()
    assert "Relayed by hand from another website by rex" in transcript


def test_a_paste_is_corrected_before_it_is_saved(rex: User, relayed: Dialogue, sign_in: SignIn) -> None:
    client = sign_in(rex)
    path = f"/relays/{relayed.pk}/turns/"

    shown = client.post(path, {"paste": "Hi!\nHello <b>\nBye\n"})

    assert "Not saved yet" in shown.content.decode()
    assert "Hello &lt;b&gt;" in shown.content.decode()
    assert texts(relayed) == ["Hi!"]
    said = {"speaker": ["human", "bot", "bot", "human"], "text": ["Hi!", "Hello", "Bye", ""]}
    client.post(path, said)
    assert texts(relayed) == ["Hi!", "Hello\nBye"]
    refused = client.post(path, {"speaker": ["bot"], "text": ["Hello"]})
    assert refused.status_code == 422
    assert "Nothing is saved yet." in refused.content.decode()
    assert texts(relayed) == ["Hi!", "Hello\nBye"]


def test_mallory_relays_nothing(study: Study, relayed: Dialogue, mallory: User, sign_in: SignIn) -> None:
    client = sign_in(mallory)

    assert client.post(f"/studies/{study.pk}/relay/", {"system": "X", "was_reset": "on"}).status_code == 404
    assert client.get(f"/relays/{relayed.pk}/").status_code == 404
    for action in ("turn", "turns", "finish", "discard"):
        assert client.post(f"/relays/{relayed.pk}/{action}/", {"text": "x"}).status_code == 404
    assert texts(relayed) == ["Hi!"]
