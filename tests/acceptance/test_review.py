"""The page *Review*: what it marks, what a decision does, and that pay follows none of it."""

import json
from datetime import timedelta
from decimal import Decimal

import pytest
from asgiref.sync import async_to_sync
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import timezone

from tests.conftest import MakeStudy, enter
from tests.knowledge.bases import base_file, make_base
from tests.planted import SignIn
from turnwise.acceptance import queries, services
from turnwise.accounts.models import User
from turnwise.crowd.models import Outcome, PayEntry
from turnwise.crowd.pay import ledger
from turnwise.crowd.places.assignment import assign
from turnwise.crowd.places.ending import complete
from turnwise.dialogues import reading_material
from turnwise.dialogues.models import Dialogue, ReadingSet, Turn
from turnwise.dialogues.queries import seat_of
from turnwise.dialogues.services import SeatOccupant, create_dialogue
from turnwise.exports import published_formats
from turnwise.labels.models import Label
from turnwise.labels.services import record
from turnwise.live.frames import RefusedError
from turnwise.studies.asks import About, AskSpec, Moment, Party
from turnwise.studies.models import Study

ASKS = [
    AskSpec("topical-chat-own", About.OWN_TURN, Moment.WAITING),
    AskSpec("topical-chat-partner", About.PARTNER_TURN, Moment.WAITING),
    AskSpec("topical-chat-conversation", About.DIALOGUE, Moment.AT_END),
]
LONG = "one two three four five six seven eight nine ten eleven twelve thirteen {}"


@pytest.fixture
def study(make_study: MakeStudy, rex: User) -> Study:
    known = make_base(rex, base_file(entities=4, articles=1))
    made = make_study(
        {"scripty": 4}, asks=ASKS, knowledge=known, opening_speaker="human", opening_text="", min_turns=4,
        max_turns=8, pay_amount=Decimal("2.00"), pay_currency="EUR",
    )  # fmt: skip
    made.study_bots.update(target=100)
    return made


def talk(study: Study, *said: str) -> Dialogue:
    """A finished conversation of two people, annotated by each."""
    now = timezone.now()
    pair = [assign(enter(study).pk) for _ in range(2)]
    dialogue = create_dialogue(
        study, SeatOccupant(assignment=pair[0]), SeatOccupant(assignment=pair[1]), now=now
    )
    workers = [each.participation.worker for each in pair]
    common = {"study": study, "party": Party.CHATTER, "created_at": now, "changed_at": now}
    for position, text in enumerate(said):
        turn = Turn.objects.create(
            dialogue=dialogue, position=position, text=text, created_at=now + timedelta(seconds=10 * position)
        )
        own = {"sentiment": ("Happy", "Sad", "Angry", "Neutral")[position], "source": ["FS1"]}
        Label.objects.create(
            turn=turn,
            rater=workers[position % 2],
            question_set="topical-chat-own",
            answers=own,
            ask=study.asks.get(question_set="topical-chat-own"),
            **common,
        )
    for worker, quality in zip(workers, (5, 2), strict=True):
        Label.objects.create(
            dialogue=dialogue, rater=worker, question_set="topical-chat-conversation",
            ask=study.asks.get(question_set="topical-chat-conversation"),
            answers={"quality": quality}, **common,
        )  # fmt: skip
    Dialogue.objects.filter(pk=dialogue.pk).update(
        ending="complete", ended_at=now, due_0=[], due_1=[], turns=len(said)
    )
    for each in pair:
        complete(each.pk, Outcome.COMPLETE, now=now)
    return Dialogue.objects.get(pk=dialogue.pk)


def good(study: Study) -> Dialogue:
    words = ("apple pear plum", "river hill wood", "moon sun star", "red green blue")
    return talk(
        study,
        *[
            f"{three} " + " ".join(f"{c}{n}" for n in range(12))
            for three, c in zip(words, "abcd", strict=True)
        ],
    )


@pytest.mark.django_db
def test_measures_are_marked_and_decisions_made_taken_back_and_paid_the_same(
    study: Study, rex: User, sign_in: SignIn
) -> None:
    fine, short = good(study), talk(study, "Hi", "Hi you", "Oh damn bullshit", "Bye")
    browser = sign_in(rex)
    page = browser.get(f"/studies/{study.pk}/review/").content.decode()
    assert "Accept the 1 conversation within all limits" in page
    assert "2 measures to look at" in page  # few words, and one that swears
    assert "conversation rated" in page
    due = {account.worker: account.due for account in ledger.unpaid_accounts(study)}
    assert set(due.values()) == {Decimal("2.00")}

    both = {"conversation": [str(fine.public_id), str(short.public_id), "x"]}
    browser.post(f"/studies/{study.pk}/review/accept/", both)
    assert queries.count_by_state(study) == {"pending": 1, "accepted": 1, "rejected": 0}

    at = f"/studies/{study.pk}/review/{short.public_id}/"
    page = browser.post(at, {"what": "reject", "reason": " "}, follow=True).content.decode()
    assert "Say why, in at most 500 characters" in page
    browser.post(at, {"what": "reject", "reason": "Nobody <b>talks</b>"})
    page = browser.get(f"/studies/{study.pk}/review/?state=rejected").content.decode()
    assert "Nobody &lt;b&gt;talks" in page
    assert f"Decided by {rex}" in page
    assert {account.worker: account.due for account in ledger.unpaid_accounts(study)} == due

    said = browser.post(at, {"what": "bonus", "amount": "1.00"}, follow=True).content.decode()
    assert "Accept the conversation first" in said
    done = f"/studies/{study.pk}/review/{fine.public_id}/"
    assert (
        "enter an amount"
        in browser.post(done, {"what": "bonus", "amount": "-1"}, follow=True).content.decode()
    )
    assert (
        "2 people get the bonus"
        in browser.post(done, {"what": "bonus", "amount": "1.50"}, follow=True).content.decode()
    )
    assert (
        list(PayEntry.objects.filter(reason="bonus").values_list("amount", flat=True))
        == [Decimal("1.50")] * 2
    )
    again = browser.post(done, {"what": "bonus", "amount": "1.50"}, follow=True).content.decode()
    assert "No changes were made" in again
    assert PayEntry.objects.filter(reason="bonus").count() == 2

    browser.post(at, {"what": "take_back", "state": "rejected"})
    assert queries.count_by_state(study) == {"pending": 1, "accepted": 1, "rejected": 0}
    assert browser.post(at, {"what": "nonsense"}).status_code == 302
    assert queries.count_by_state(study)["pending"] == 1


@pytest.mark.django_db
def test_only_accepted_ones_are_in_the_files_and_a_rejected_one_gives_its_article_back(
    study: Study, rex: User
) -> None:
    talks = [good(study) for _ in range(4)]
    knowledge = study.knowledge_id or 0
    assert reading_material.remaining_uses(study.pk, knowledge) == 0
    services.accept(talks[:1], by=rex)

    services.reject(talks[1], reason="Copied", by=rex)

    assert reading_material.remaining_uses(study.pk, knowledge) == 1
    with pytest.raises(ValidationError, match="already been decided on: Rejected"):
        services.reject(talks[1], reason="Again", by=rex)
    assert services.accept(talks[1:2], by=rex) == 0
    out = json.loads("".join(published_formats.topical_chat_conversations(study)))
    assert list(out) == [str(talks[0].public_id)]
    made = ReadingSet.objects.get(dialogue=talks[0])
    assert out[str(talks[0].public_id)]["config"] == made.configuration
    assert out[str(talks[0].public_id)]["conversation_rating"] == {
        "agent_1": "Excellent",
        "agent_2": "Not Good",
    }
    sets = json.loads("".join(published_formats.topical_chat_reading_sets(study)))
    assert list(sets[str(talks[0].public_id)]["agent_1"]) == ["FS1", "FS2", "FS3"]
    good(study)
    with pytest.raises(ValidationError, match="has 4 other conversations by now"):
        services.reset_decision(talks[1])
    assert queries.count_by_state(study) == {"pending": 3, "accepted": 1, "rejected": 1}


@pytest.mark.django_db
def test_limits_are_the_studys_own_and_wrong_ones_change_nothing(
    study: Study, rex: User, sign_in: SignIn
) -> None:
    talk(study, "Hi", "Hi you", "Oh", "Bye")
    browser = sign_in(rex)
    at = f"/studies/{study.pk}/review/limits/"
    fields = dict.fromkeys(
        ("turns", "words", "sourced", "seconds", "copied", "repeated", "profane", "alike"), ""
    )

    refused = browser.post(
        at, {f"limit-{key}": value for key, value in (fields | {"sourced": "101"}).items()}
    )
    assert refused.status_code == 422
    assert services.limits_of(study)["words"] == 12
    browser.post(at, {f"limit-{key}": value for key, value in (fields | {"sourced": "55"}).items()})

    assert services.limits_of(study) == dict.fromkeys(fields) | {"sourced": 0.55}
    assert "Accept the 1 conversation within" in browser.get(f"/studies/{study.pk}/review/").content.decode()


@pytest.mark.django_db(transaction=True)
def test_sources_are_those_that_one_was_shown(study: Study, client: Client) -> None:
    pair = [assign(enter(study).pk) for _ in range(2)]
    dialogue = create_dialogue(
        study, SeatOccupant(assignment=pair[0]), SeatOccupant(assignment=pair[1]), now=timezone.now()
    )
    seat = dialogue.seats.get(number=0)
    shown = set(seat.materials.values_list("key", flat=True))
    if "AS1" in shown:  # as in configuration C, in which nobody sees the article
        seat.materials.filter(key__startswith="AS").delete()
    assert seat.worker_id
    seated = seat_of(dialogue.public_id, seat.worker_id)
    Turn.objects.create(dialogue=dialogue, position=0, text="Hi", created_at=timezone.now())
    Dialogue.objects.filter(pk=dialogue.pk).update(turns=1)

    def say(*sources: str) -> None:
        answers = {"sentiment": "Happy", "source": list(sources)}
        async_to_sync(record)(seated, position=0, answers=answers, ask=0)

    with pytest.raises(RefusedError, match="You were not shown AS2"):
        say("FS1", "AS2")
    assert not Label.objects.exists()
    say("FS1", "Personal Knowledge")

    assert Label.objects.get().answers["source"] == ["FS1", "Personal Knowledge"]
