"""A rehearsal of a study in which people talk with each other, through real pages and sockets."""

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from threading import Event, Thread

import pytest
from django.core.management import CommandError
from django.db import connection
from django.utils import timezone

from evaluation.conversation.grounding import SWEARING
from evaluation.questions import Choice, Question, QuestionSet, Subject
from evaluation.questions import Kind as QuestionKind
from evaluation.texts.repetition import repeated_turns
from tests.conftest import MakeMeeting
from tests.knowledge.bases import base_file, make_base
from tests.planted import SignIn
from tests.rehearsals.conftest import rehearsed, rows
from turnwise.accounts.models import User
from turnwise.crowd.models import Assignment, Participation, Waiting
from turnwise.dialogues.models import Dialogue, ReadingSet
from turnwise.labels.models import Label
from turnwise.rehearsals import run
from turnwise.rehearsals.expected_results import expected_means
from turnwise.rehearsals.injected_effects import Kind, Plan, mix
from turnwise.rehearsals.models import Attempt
from turnwise.rehearsals.simulated_answers import (
    COPIED_WORDS,
    PROFANE_TEXT,
    REPEATED_TEXT,
    SENTENCES,
    copied_text,
    message_text,
)
from turnwise.rehearsals.tasks import start_process
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_same_database")]

SSA = (
    AskSpec("ssa", About.PARTNER_TURN, Moment.EACH_TURN),
    AskSpec("human-likeness", About.OWN_TURN, Moment.WAITING, required=False),
    AskSpec("likert", About.DIALOGUE, Moment.AT_END),
)
TOPICAL_CHAT = (
    AskSpec("topical-chat-own", About.OWN_TURN, Moment.WAITING),
    AskSpec("topical-chat-partner", About.PARTNER_TURN, Moment.WAITING),
    AskSpec("topical-chat-conversation", About.DIALOGUE, Moment.AT_END),
)


@contextmanager
def last_of(people: int) -> Iterator[None]:
    """Whoever begins as the last of so many has waited for an hour already."""
    is_over = Event()

    def hurry() -> None:
        try:
            while not is_over.wait(0.2):
                begun = Assignment.objects.filter(study__rehearsal_of__isnull=False).order_by("-pk")
                if begun.count() == people:
                    Waiting.objects.filter(assignment=begun[0]).update(waited=timedelta(hours=1))
        finally:
            connection.close()

    thread = Thread(target=hurry)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def outcomes(study: Study) -> Counter[str]:
    return Counter(Assignment.objects.filter(study=study).values_list("outcome", flat=True))


def test_scores_counts_and_measures_are_recovered_and_the_study_is_unchanged(
    make_meeting: MakeMeeting, rex: User, sign_in: SignIn
) -> None:
    study = make_meeting(asks=SSA, min_turns=6, max_turns=10)
    before = rows()

    told = rehearsed(study, "--workers", "30")

    rehearsal = study.rehearsal
    assert "The report recovers the injected effects: 30 of 30 findings hold." in told, told
    # Three of thirty leave; whoever each of them met is told, ends it, and is paid. If two of them meet, the
    # one leaves the other, who then has no longer to.
    left = Dialogue.objects.filter(study=rehearsal, ending="partner_left").count()
    assert 2 <= left <= mix(30).count(Kind.LEAVING) == 3
    assert outcomes(rehearsal) == {"complete": 30 - 2 * left, "partner_left": left, "withdrawn": left}
    assert not Dialogue.objects.filter(study=rehearsal, ending="")
    aside = Participation.objects.filter(study=rehearsal, excluded_at__isnull=False)
    assert set(aside.values_list("excluded_reason", flat=True)) == {
        "Rehearsal: careless", "Rehearsal: straight-lining",
    }  # fmt: skip
    # Who met somebody careless is not excluded with them.
    assert aside.count() <= mix(30).count(Kind.CARELESS) + mix(30).count(Kind.STRAIGHT_LINING)
    for measure in ("Turns", "Words of a message", "Messages that repeat", "Messages with profanity"):
        assert any(line.startswith(f"yes Review, {measure}") for line in told.splitlines()), told

    client = sign_in(rex)
    assert f"/studies/{study.pk}/rehearsal/" in client.get(f"/studies/{study.pk}/").content.decode()
    page = client.get(f"/studies/{rehearsal.pk}/report/").content.decode()
    assert "30 of 30 findings hold." in page
    assert (study.dialogues.count(), rehearsal.state) == (0, "closed")

    client.post(f"/studies/{rehearsal.pk}/rehearsal/delete/")

    assert rows() == before | Counter({"BotVersion": rows()["BotVersion"]})


def test_people_who_read_before_they_talk_name_only_what_they_were_shown(
    make_meeting: MakeMeeting, rex: User
) -> None:
    known = make_base(rex, base_file(entities=4, articles=25))
    study = make_meeting(asks=TOPICAL_CHAT, knowledge=known, min_turns=6, max_turns=8)

    with last_of(31):
        told = rehearsed(study, "--workers", "31")

    rehearsal = study.rehearsal
    assert "OUTSIDE" not in told, told
    assert "\nNO " not in told, told
    assert "15 of 15 conversations are about an article" in told
    assert outcomes(rehearsal)["no_partner"] == 1
    assert "and 1 people who waited in vain" in told
    assert f"{COPIED_WORDS} words or more in " in told
    assert "Review, Messages with a text as source: injected" in told
    assert "Review, Equal annotations of one person: injected" in told
    configurations = dict(
        ReadingSet.objects.filter(dialogue__study=rehearsal).values_list("dialogue", "configuration")
    )
    assert len(set(configurations.values())) > 1
    for label in Label.objects.filter(study=rehearsal, question_set="topical-chat-own").select_related(
        "turn"
    ):
        assert label.turn
        if configurations[label.turn.dialogue_id] == "C":  # nobody has an article
            assert not any(source.startswith("AS") for source in label.answers["source"])


def test_a_worker_without_a_partner_talks_with_the_studys_bot(make_meeting: MakeMeeting) -> None:
    study = make_meeting(asks=SSA, alone="bot", bots={"scripty": 9}, min_turns=4, max_turns=6)

    with last_of(5), suppress(CommandError):  # of so few a planted value may lie outside
        rehearsed(study, "--workers", "5", "--at-once", "1")

    told = {each["words"]: each["holds"] for each in study.rehearsal.outcome.findings}
    of_bot = {words: holds for words, holds in told.items() if "Scripty" in words}
    assert all(of_bot.values())
    assert any("counts 1 finished, 0 open and 0 failed conversations" in words for words in of_bot)
    # of one conversation nothing is estimated: how it went is counted, and the labels of three asks
    assert len(of_bot) == 1 + 3, of_bot
    assert Dialogue.objects.filter(study=study.rehearsal, seats__bot__isnull=False).count() == 1


@pytest.mark.parametrize(
    ("articles", "workers", "said"),
    [
        (0, "1", "Two people talk with each other. Use --workers 2 or more."),
        (1, "9", "articles for 4 conversations, 4 about each. Use --workers 8 or fewer"),
    ],
)
def test_too_few_people_or_articles_are_refused_before_the_start(
    make_meeting: MakeMeeting, rex: User, articles: int, workers: str, said: str
) -> None:
    study = make_meeting()
    if articles:
        Study.objects.filter(pk=study.pk).update(knowledge=make_base(rex, base_file(articles=articles)))

    with pytest.raises(CommandError, match=said):
        rehearsed(study, "--workers", workers)

    assert not Study.objects.exclude(pk=study.pk)


def test_a_killed_rehearsal_leaves_nobody_waiting_and_the_next_one_succeeds(
    make_meeting: MakeMeeting, rex: User
) -> None:
    study = make_meeting(min_turns=20, max_turns=30)
    run.create_attempt(study, 12, by=rex)
    process = start_process(study.pk, 12)
    deadline = time.monotonic() + 120
    while Dialogue.objects.filter(study__rehearsal_of=study, turns__gt=2).count() < 2:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)

    os.kill(process.pid, signal.SIGKILL)
    process.wait(30)

    assert Dialogue.objects.filter(study__rehearsal_of=study, ending="").exists()
    Attempt.objects.update(told_at=timezone.now() - timedelta(minutes=5))
    assert "ended unexpectedly" in run.refresh_attempt(Attempt.objects.get()).reason
    told = rehearsed(study, "--workers", "12")
    assert "12 of 12 workers are done." in told
    assert "\nNO " not in told, told
    rehearsal = Study.objects.get(rehearsal_of=study)
    assert not outcomes(rehearsal)[""]
    assert not Waiting.objects.filter(study=rehearsal, over_at=None).exists()


# --- what is planted: no database, no server -----------------------------------------------------------


def test_only_injected_texts_repeat_swear_or_copy() -> None:
    both = [message_text(number, seat, place) for place in range(20) for seat, number in ((0, 3), (1, 8))]
    everything = [*SENTENCES, REPEATED_TEXT, PROFANE_TEXT]

    assert len(set(both)) == len(both) == len(SENTENCES) == 40
    assert not any(repeated_turns(both))
    assert not any(repeated_turns(everything))
    assert [text for text in everything if SWEARING.search(text)] == [PROFANE_TEXT]
    copy = copied_text(
        ["Too short.", "one two three four five six seven eight nine ten eleven twelve thirteen"]
    )
    assert copy == "Look here: one two three four five six seven eight nine ten eleven twelve"
    assert copied_text(["Too short."]) == ""


def test_hidden_choices_are_never_given_and_the_others_keep_their_proportions() -> None:
    choices = tuple(Choice(each, each) for each in "ABC")
    asked = QuestionSet(
        "used", "Used", frozenset({Subject.TURN}),
        (Question("source", "What did you use?", "Choose all.", kind=QuestionKind.SEVERAL, choices=choices),),
        "ours",
    )  # fmt: skip
    plan = Plan(asked, ["Human"], alone=True)
    for number in range(20):
        plan.meet(str(number), "Human", {"source": ["A", "C"]})
        kind = Kind.CARELESS if number % 2 else Kind.CAREFUL
        given = plan.deal(str(number), kind)
        assert given["source"] in (["A"], ["C"])  # not two neighbours: B stands between
        plan.note(str(number), kind, given)

    # The five ways are A, B, C, A and B, B and C; the peak at 0.7 x 4 gives them weights 5 - |place - 2.8|:
    # 2.2 for A and 4.2 for C. So careful ones give A 2.2 / 6.4 of the time, careless ones half of it.
    expected = 100 * (10 * 2.2 / 6.4 + 10 * 0.5) / 20
    score = next(each for each in asked.scores if each.terms[0].choice == "A")
    assert expected_means(plan, "Human")[score.key] == pytest.approx(expected)
