"""The researcher's pages of a study with battles: form, checks, preview, report and export."""

import csv
import io

import pytest
from django.test import Client
from django.utils import timezone

from tests.arenas import come, make_arena
from tests.planted import SignIn, computed
from turnwise.accounts.models import User
from turnwise.bots.models import OPERATED, Bot
from turnwise.bots.services import register_bot
from turnwise.dialogues.models import Battle, Dialogue, Turn
from turnwise.labels.services import NO_TIMING
from turnwise.studies.models import Study
from turnwise.studies.queries import counts_of
from turnwise.studies.services import clone
from turnwise.studies.tasks import task_of
from turnwise.tasks.arena import battles, votes
from turnwise.tasks.arena.both_sides import read_sides

pytestmark = pytest.mark.django_db(transaction=True)


NAMES = ("Ann", "Bob", "Cid")


def form_of(*bots: Bot, **changes: object) -> dict[str, object]:
    rows = {
        f"bots-{n}-{name}": value
        for n, bot in enumerate(bots)
        for name, value in (("bot", bot.pk), ("chosen", "on"), ("target", 20))
    }
    return {
        "task": "arena", "title": "Which is better", "languages": "en",
        "consent_text": "You talk to machines.",
        "pay_amount": "0", "pay_currency": "USD", "expected_minutes": "5", "hourly_target": "",
        "min_turns": 2, "max_turns": 6, "primary_analysis": "all", "judging-batch_size": 4,
        "asks-TOTAL_FORMS": 1, "asks-INITIAL_FORMS": 0, "asks-0-question_set": "preference",
        "people-TOTAL_FORMS": 0, "people-INITIAL_FORMS": 0,
        "bots-TOTAL_FORMS": len(bots), "bots-INITIAL_FORMS": 0, **rows, **changes,
    }  # fmt: skip


def bot_named(name: str) -> Bot:
    return register_bot(
        name=name, title=name.title(), adapter="scripted", configuration={"replies": ["Yes."]}
    )


def test_a_study_is_made_checked_and_previewed(rex: User, sign_in: SignIn) -> None:
    client, ann, bob = sign_in(rex), bot_named("ann"), bot_named("bob")
    assert "Choose at least two." in client.get("/studies/new/?task=arena&preset=empty").content.decode()

    odd = client.post("/studies/new/?task=arena&preset=empty", form_of(ann, bob, max_turns=5))
    assert "Write 4 or 6." in odd.content.decode()
    made = client.post("/studies/new/?task=arena&preset=empty", form_of(ann, bob))
    assert made.status_code == 302, made.context["page"].form.errors if made.context else made.content
    study = Study.objects.get()
    assert (study.task, study.opening_text, study.judging.batch_size) == ("arena", "", 4)
    task = task_of(study)
    assert task.why_not_open(study) == ""
    copy = clone(study, owner=rex)
    assert (copy.judging.batch_size, copy.study_bots.count()) == (4, 2)

    Bot.objects.filter(pk=bob.pk).update(adapter=OPERATED, configuration={})
    assert "A person answers in place of “Bob”" in task.why_not_open(study)
    Bot.objects.filter(pk=bob.pk).update(adapter="scripted", title="Ann")
    assert "Two of the bots are called “Ann”" in task.why_not_open(study)
    study.study_bots.filter(bot=bob).update(target=0)
    assert "at least two active bots" in task.why_not_open(study)
    for page in ("", "edit/", "opening/", "preview/work/", "preview/instructions/", "preview/consent/"):
        assert client.get(f"/studies/{study.pk}/{page}").status_code == 200, page


def test_the_list_of_votes_says_how_many_turns_each_is_about(rex: User, sign_in: SignIn) -> None:
    study = make_arena(rex, each=1, votes_each=True)
    context = battles.find_context(study.code, come(study).worker_id)
    found = battles.current_battle(context)
    assert found
    for exchange in (1, 2):
        for seat in found.seats:
            for position in (2 * exchange - 2, 2 * exchange - 1):
                seat_turn(seat.dialogue_id, position, f"Text {position}")
            turns = {"turns": 2 * exchange, "bot_turns": exchange}
            Dialogue.objects.filter(pk=seat.dialogue_id).update(**turns)
        votes.vote(context, 1, exchange, 0, {"better": "first"}, NO_TIMING)
    battles.finish(context)  # the last message ended the comparison
    client = sign_in(rex)
    listed = client.get(f"/studies/{study.pk}/items/").content.decode()
    assert [listed.count(f"First {turns} turns") for turns in (2, 4)] == [1, 1]
    early = study.items.get(pair__turns=2)
    page = client.get(f"/studies/{study.pk}/items/{early.key}/").content.decode()
    assert "the first 2 turns of each" in page
    assert "Text 1" in page
    assert "Text 2" not in page
    sent = b"".join(client.get(f"/studies/{study.pk}/turns.csv")).decode()  # type: ignore[arg-type]
    assert [row["turn"] for row in csv.DictReader(io.StringIO(sent))] == ["2", "4"]


def vote_left(study: Study) -> None:
    """A new worker talks once in each battle, and always prefers the left side."""
    context = battles.find_context(study.code, come(study).worker_id)
    while found := battles.current_battle(context):
        number = found.battle.number
        for seat in found.seats:
            Dialogue.objects.filter(pk=seat.dialogue_id).update(turns=2, bot_turns=1)
        for position, text in enumerate(("Hi", "Hello")):
            for seat in found.seats:
                seat_turn(seat.dialogue_id, position, text)
        assert read_sides(context, found).is_complete
        votes.vote(context, number, 1, 0, {"better": "first"}, NO_TIMING)
    battles.finish(context)


def seat_turn(dialogue: int, position: int, text: str) -> None:
    Turn.objects.create(dialogue_id=dialogue, position=position, text=text, created_at=timezone.now())


def test_every_two_bots_meet_equally_often_and_the_report_and_files_have_all_votes(
    rex: User, sign_in: SignIn
) -> None:
    study = make_arena(rex, ("ann", "bob", "cid"), each=3, target=6)
    for _ in range(3):
        vote_left(study)
    assert battles.voted_battles(study) == battles.target_battles(study) == 9
    assert counts_of([study]) == {study.pk: (9, 9)}
    assert task_of(study).is_full(study, study.created_at)
    pairs = Battle.objects.values_list("left__seats__bot__name", "right__seats__bot__name")
    met = [frozenset(pair) for pair in pairs if None not in pair]
    assert sorted(met.count(pair) for pair in set(met)) == [3, 3, 3]

    result = computed(study).result
    assert result
    assert [row["labels"] for row in result["bots"]] == [3, 3, 3]
    client: Client = sign_in(rex)
    for page in ("", "report/", "items/", "dialogues/", "monitor/"):
        answer = client.get(f"/studies/{study.pk}/{page}")
        assert answer.status_code == 200, page
    item = study.items.first()
    assert item
    assert client.get(f"/studies/{study.pk}/items/{item.key}/").status_code == 200
    sent = b"".join(client.get(f"/studies/{study.pk}/turns.csv")).decode()  # type: ignore[arg-type]
    rows = list(csv.DictReader(io.StringIO(sent)))
    assert len(rows) == 9
    assert {row["bot"] for row in rows} <= {f"{one} against {other}" for one in NAMES for other in NAMES}
