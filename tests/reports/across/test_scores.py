"""Scores of versions over studies, against hand counts."""

import numpy as np
import pytest
from django.db import connection
from numpy.random import default_rng

from bots.models import Bot
from evaluation.bootstrap import SSA, cluster_interval
from evaluation.report.figures import METHOD, SEED
from labels import subjects
from reports.across.scores import (
    ASKED_HUMAN_LIKENESS,
    ASKED_SSA,
    RESAMPLES,
    Conversation,
    TooMuchError,
    conversations,
    scored,
    scored_by,
)
from studies.models import Study
from tests.conftest import MakeContexts, MakeQueue, MakeRun, MakeStudy, start_dialogue
from tests.reports.across.conftest import BOTH, NO, SENSIBLE, judge_all, respond, talk


@pytest.fixture
def short(make_study: MakeStudy) -> Study:
    return make_study({"ann": 100}, min_turns=2, max_turns=8)


def test_conversations_are_summed_by_version(short: Study) -> None:
    talk(short, {"ann": [BOTH, SENSIBLE, NO]}, details={"release": 1})
    talk(short, {"ann": [BOTH]}, details={"release": 1})
    talk(short, {"ann": [NO, SENSIBLE]}, details={"release": 2})
    start_dialogue(short)

    found = scored_by(lambda each: each.version, conversations([short.pk], ASKED_SSA), ASKED_SSA)

    # Release 1: of 4 labels 3 sensible, 2 specific. Release 2: of 2 labels 1 sensible, none specific.
    first, second = (found[version] for version in sorted(found))
    assert {key: cell["value"] for key, cell in first.cells.items()} == {
        "ssa": 62.5,
        "sensible": 75.0,
        "specific": 50.0,
    }
    assert (first.conversations, first.labels) == (2, 4)
    assert (second.cells["ssa"]["value"], second.conversations, second.labels) == (25.0, 1, 2)
    assert "Only 1 conversation" in second.cells["ssa"]["undefined"]


def test_only_what_was_asked_for_counts(short: Study, make_study: MakeStudy) -> None:
    other = make_study({"ann": 100, "bob": 100}, min_turns=2, max_turns=8, question_set="human-likeness")
    talk(short, {"ann": [BOTH]})
    for _ in range(2):
        talk(other, {"ann": [True, False, True], "bob": [False]})
    both = [short.pk, other.pk]

    ssa = conversations(both, ASKED_SSA)
    human = scored_by(lambda each: each.bot, conversations(both, ASKED_HUMAN_LIKENESS), ASKED_HUMAN_LIKENESS)

    assert [each.sums for each in ssa] == [(1, 1, 1)]
    assert sorted(each.cells["human_like"]["value"] for each in human.values()) == [
        0.0,
        pytest.approx(200 / 3),
    ]
    assert conversations([other.pk], ASKED_SSA) == []
    assert conversations(both, ASKED_SSA, bot=-1) == []


def test_judged_responses_are_summed_by_context_and_people_stand_under_their_name(
    make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun, bot: Bot
) -> None:
    study, contexts = make_queue(raters=2), make_contexts(2)
    subjects.add_responses(study, respond(contexts, bot))
    subjects.add_responses(study, make_run(contexts, "People"))
    yes, meh, no = ({"sensible": s, "specific": p} for s, p in (BOTH, SENSIBLE, NO))
    judge_all(study, {
        (bot.title, "c1"): [yes, meh], (bot.title, "c2"): [no, meh],
        ("People", "c1"): [yes, yes], ("People", "c2"): [yes, meh],
    })  # fmt: skip

    found = conversations([study.pk], ASKED_SSA)
    by_bot = scored_by(lambda each: each.bot, found, ASKED_SSA)

    # The bot: of 4 labels 3 sensible, 1 specific. People: 4 sensible, 3 specific.
    assert {who: each.cells["ssa"]["value"] for who, each in by_bot.items()} == {bot.pk: 50, "People": 87.5}
    assert {each.dialogue for each in found} == {-context.pk for context in contexts.contexts.all()}
    assert (by_bot[bot.pk].conversations, by_bot[bot.pk].labels) == (2, 4)
    assert by_bot[bot.pk].newest_dialogues == []
    assert [each.bot for each in conversations([study.pk], ASKED_SSA, bot=bot.pk)] == [bot.pk] * 2


def test_the_interval_resamples_conversations_and_is_that_of_the_reports() -> None:
    sums = [(7, 7, 7), (7, 6, 7), (6, 6, 7), (7, 7, 7), (7, 7, 7), (7, 5, 7), (6, 5, 7), (5, 5, 7)] * 2
    planted = [Conversation(1, 1, 1, n, 0.0, each) for n, each in enumerate(sums)]

    cell = scored(planted, ASKED_SSA).cells["ssa"]

    reference = cluster_interval(
        np.array(sums, dtype=float), SSA, default_rng(SEED), resamples=RESAMPLES, method=METHOD
    )
    # Twice 52 sensible and 48 specific of 56.
    assert cell["value"] == pytest.approx(100 * (52 + 48) / 112)
    assert (cell["low"], cell["high"]) == pytest.approx((100 * reference.low, 100 * reference.high))


def test_an_interval_never_leaves_the_scale() -> None:
    sums = [(7, 7, 7)] * 9 + [(7, 6, 7)] * 2 + [(0, 0, 7)]
    planted = [Conversation(1, 1, 1, n, 0.0, each) for n, each in enumerate(sums)]
    ratio = cluster_interval(
        np.array(sums, dtype=float), SSA, default_rng(SEED), resamples=RESAMPLES, method=METHOD
    )

    assert ratio.high > 1
    assert scored(planted, ASKED_SSA).cells["ssa"]["high"] == 100.0


def test_a_version_that_changed_within_a_conversation_does_not_make_two_of_it() -> None:
    planted = [Conversation(1, version, 1, 5, 0.0, (1, 0, 2)) for version in (1, 2)]

    found = scored(planted, ASKED_SSA)

    assert (found.conversations, found.labels) == (1, 4)
    assert "Only 1 conversation" in found.cells["ssa"]["undefined"]


def test_the_newest_conversations_come_first(short: Study) -> None:
    dialogues = [talk(short, {"ann": [BOTH]}).pk for _ in range(4)]

    found = scored(conversations([short.pk], ASKED_SSA), ASKED_SSA)

    assert found.newest_dialogues == dialogues[:0:-1]
    assert found.first_ended <= found.last_ended


def test_more_conversations_than_a_page_may_read_are_refused(short: Study) -> None:
    for _ in range(3):
        talk(short, {"ann": [BOTH]})

    assert len(conversations([short.pk], ASKED_SSA, most=3)) == 3
    with pytest.raises(TooMuchError, match=r"more than 2 finished conversations or contexts\. Choose fewer"):
        conversations([short.pk], ASKED_SSA, most=2)


@pytest.mark.django_db(transaction=True)
def test_reading_that_takes_too_long_is_given_up() -> None:
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("BEGIN; LOCK TABLE labels_label IN ACCESS EXCLUSIVE MODE")
    try:
        with pytest.raises(TooMuchError, match="took more than 1 seconds"):
            conversations([1], ASKED_SSA, seconds=1)
    finally:
        other.close()

    assert conversations([1], ASKED_SSA, seconds=1) == []
