"""Scores of versions over studies, against hand counts."""

import pytest
from django.db import connection

from evaluation import questions
from tests.comparisons.conftest import BOTH, NO, SENSIBLE, judge_all, respond, talk
from tests.conftest import MakeContexts, MakeQueue, MakeRun, MakeStudy, start_dialogue
from tests.planted import computed
from turnwise.bots.models import Bot
from turnwise.comparisons.scores import (
    Conversation,
    LabelSelection,
    TooMuchError,
    conversations,
    score_conversations,
    scores_by_key,
)
from turnwise.crowd.models import Participation
from turnwise.crowd.places.ending import exclude
from turnwise.judging.items import subjects
from turnwise.studies.models import Study

ASKED_SSA, ASKED_HUMAN_LIKENESS = LabelSelection(questions.SSA), LabelSelection(questions.HUMAN_LIKENESS)


def said(dialogue: int, rater: int, labels: list[tuple[int, int]], *, version: int = 1) -> Conversation:
    """A conversation with these labels, sensible and specific, as it is read."""
    sensible, specific = ([label[place] for label in labels] for place in (0, 1))
    both = [sum(label) / 2 for label in labels]
    return Conversation(1, version, 1, dialogue, 0.0, [rater] * len(labels), [sensible, specific, both])


@pytest.fixture
def short(make_study: MakeStudy) -> Study:
    return make_study({"ann": 100}, min_turns=2, max_turns=8)


def test_conversations_are_summed_by_version(short: Study) -> None:
    talk(short, {"ann": [BOTH, SENSIBLE, NO]}, details={"release": 1})
    talk(short, {"ann": [BOTH]}, details={"release": 1})
    talk(short, {"ann": [NO, SENSIBLE]}, details={"release": 2})
    start_dialogue(short)

    found = scores_by_key(lambda each: each.version, conversations([short.pk], ASKED_SSA), ASKED_SSA)

    # Release 1: of 4 labels 3 sensible, 2 specific. Release 2: of 2 labels 1 sensible, none specific.
    first, second = (found[version] for version in sorted(found))
    assert {key: cell["value"] for key, cell in first.cells.items()} == {
        "ssa": 62.5,
        "sensible": 75.0,
        "specific": 50.0,
    }
    assert (first.conversations, first.labels) == (2, 4)
    assert (second.cells["ssa"]["value"], second.conversations, second.labels) == (25.0, 1, 2)
    assert "All labels are of one conversation" in second.cells["ssa"]["undefined"]


def test_only_the_selected_labels_count(short: Study, make_study: MakeStudy) -> None:
    other = make_study({"ann": 100, "bob": 100}, min_turns=2, max_turns=8, question_set="human-likeness")
    talk(short, {"ann": [BOTH]})
    for _ in range(2):
        talk(other, {"ann": [True, False, True], "bob": [False]})
    both = [short.pk, other.pk]

    ssa = conversations(both, ASKED_SSA)
    human = scores_by_key(
        lambda each: each.bot, conversations(both, ASKED_HUMAN_LIKENESS), ASKED_HUMAN_LIKENESS
    )

    assert [each.values for each in ssa] == [[[1.0], [1.0], [1.0]]]
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
    by_bot = scores_by_key(lambda each: each.bot, found, ASKED_SSA)

    # The bot: of 4 labels 3 sensible, 1 specific. People: 4 sensible, 3 specific.
    assert {who: each.cells["ssa"]["value"] for who, each in by_bot.items()} == {bot.pk: 50, "People": 87.5}
    assert {each.dialogue for each in found} == {-context.pk for context in contexts.contexts.all()}
    assert (by_bot[bot.pk].conversations, by_bot[bot.pk].labels) == (2, 4)
    assert by_bot[bot.pk].newest_dialogues == []
    assert [each.bot for each in conversations([study.pk], ASKED_SSA, bot=bot.pk)] == [bot.pk] * 2


@pytest.mark.django_db(transaction=True)
def test_a_page_over_studies_has_the_scores_and_intervals_of_the_report(short: Study) -> None:
    for n in range(8):
        talk(short, {"ann": [BOTH if (n + k) % 3 else (SENSIBLE if k % 2 else NO) for k in range(3 + n % 2)]})
    result = computed(short).result
    assert result

    cells = score_conversations(conversations([short.pk], ASKED_SSA), ASKED_SSA).cells

    for place, column in enumerate(result["columns"]):
        reported = result["bots"][0]["cells"][place]
        shown = cells[column["key"]]
        for name in ("value", "low", "high"):
            assert shown[name] == pytest.approx(reported[name], rel=1e-12), (column["key"], name)
        assert (shown["method"], shown["rests_on"]) == (reported["method"], reported["rests_on"])


def test_workers_whom_the_primary_analysis_leaves_out_do_not_count(make_study: MakeStudy) -> None:
    strict = make_study(
        {"ann": 100},
        min_turns=2,
        max_turns=8,
        primary_analysis="without_excluded",
        exclusion_rules="Too fast.",
    )
    lenient = make_study({"ann": 100}, min_turns=2, max_turns=8)
    for study in (strict, lenient):
        talk(study, {"ann": [BOTH, BOTH]})
        careless = talk(study, {"ann": [NO, NO]})
        exclude(Participation.objects.get(assignment__seat__dialogue=careless).pk, reason="x", by=study.owner)

    of_study = scores_by_key(
        lambda each: each.study, conversations([strict.pk, lenient.pk], ASKED_SSA), ASKED_SSA
    )

    assert (of_study[strict.pk].cells["ssa"]["value"], of_study[strict.pk].labels) == (100, 2)
    assert (of_study[lenient.pk].cells["ssa"]["value"], of_study[lenient.pk].labels) == (50, 4)


def test_a_version_that_changed_within_a_conversation_does_not_make_two_of_it() -> None:
    planted = [said(5, 1, [(1, 0), (0, 0)], version=version) for version in (1, 2)]

    found = score_conversations(planted, ASKED_SSA)

    assert (found.conversations, found.labels) == (1, 4)
    assert "All labels are of one conversation" in found.cells["ssa"]["undefined"]


def test_the_newest_conversations_come_first(short: Study) -> None:
    dialogues = [talk(short, {"ann": [BOTH]}).pk for _ in range(4)]

    found = score_conversations(conversations([short.pk], ASKED_SSA), ASKED_SSA)

    assert found.newest_dialogues == dialogues[:0:-1]
    assert found.first_ended <= found.last_ended


def test_more_conversations_than_a_page_may_read_are_refused(short: Study) -> None:
    for _ in range(3):
        talk(short, {"ann": [BOTH]})

    assert len(conversations([short.pk], ASKED_SSA, most=3)) == 3
    with pytest.raises(TooMuchError, match=r"more than 2 finished conversations or contexts\. Choose fewer"):
        conversations([short.pk], ASKED_SSA, most=2)


@pytest.mark.django_db(transaction=True)
def test_reading_stops_after_a_timeout() -> None:
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("BEGIN; LOCK TABLE labels_label IN ACCESS EXCLUSIVE MODE")
    try:
        with pytest.raises(TooMuchError, match="took longer than 1 seconds"):
            conversations([1], ASKED_SSA, seconds=1)
    finally:
        other.close()

    assert conversations([1], ASKED_SSA, seconds=1) == []
