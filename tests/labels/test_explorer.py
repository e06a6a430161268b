"""Finding conversations of a study: each filter against conversations that were planted for it."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evaluation.questions import Answer
from tests.conftest import MakeQueue, MakeStudy, pseudonym_of, start_dialogue, worker_of
from tests.planted import SignIn, talked
from tests.rewriting import rewriting
from turnwise.accounts.models import User
from turnwise.crowd.models import Participation, Worker
from turnwise.crowd.places.ending import exclude
from turnwise.dialogues.models import Dialogue, Fault, Turn
from turnwise.labels import explorer
from turnwise.labels.explorer import DialogueFilter, find_dialogues, neighbours
from turnwise.labels.models import Label
from turnwise.studies.asks import About, AskSpec, Moment, Party
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def pair_of_bots(make_study: MakeStudy) -> Study:
    return make_study({"ann": 50, "bob": 50}, min_turns=2, max_turns=8)


def listed(study: Study, **wanted: object) -> list[Dialogue]:
    return find_dialogues(study, DialogueFilter(**wanted)).rows  # type: ignore[arg-type]


def judged_by_readers(dialogue: Dialogue, queue: Study, *answers: dict[str, Answer]) -> None:
    """Each a reader's of the first reply."""
    for each in answers:
        Label.objects.create(
            turn=dialogue.turn_set.get(position=2), rater=Worker.objects.create(), study=queue,
            party=Party.READER, ask=queue.asks.get(), question_set="ssa", answers=each,
            created_at=timezone.now(), changed_at=timezone.now(),
        )  # fmt: skip


def test_a_conversation_has_the_mean_of_its_labels_as_its_score(
    pair_of_bots: Study, make_queue: MakeQueue
) -> None:
    # SSA of a label: the mean of sensible and specific. (1, 1) (1, 0): (100 + 50) / 2 = 75.
    high = talked(pair_of_bots, [(True, True), (True, False)])
    low = talked(pair_of_bots, [(False, False), (True, False)])  # (0 + 50) / 2 = 25
    under_way = start_dialogue(pair_of_bots)
    judged_by_readers(
        low, make_queue(1), {"sensible": True, "specific": True}, {"sensible": False, "specific": False}
    )

    rows = listed(pair_of_bots)

    assert rows == [under_way, low, high]
    assert [(row.own_score, row.read_score) for row in rows] == [(None, None), (25, 50), (75, None)]
    assert listed(pair_of_bots, lowest=30.0) == [high]
    assert listed(pair_of_bots, lowest=25.0, highest=75.0) == [low, high]
    assert listed(pair_of_bots, highest=24.9) == []


def test_the_list_counts_turns_as_a_study_limits_them(
    pair_of_bots: Study, rex: User, sign_in: SignIn
) -> None:
    talked(pair_of_bots, [(True, True), (True, False)])
    start_dialogue(pair_of_bots)  # nothing but the opening is said in it

    page = sign_in(rex).get(f"/studies/{pair_of_bots.pk}/dialogues/").content.decode()

    assert re.findall(r'data-label="Turns">(\d+)<', page) == ["0", "4"]
    assert "Turns are counted without a scripted opening." in page


def test_by_a_score_those_without_it_are_left_out_and_counted(
    pair_of_bots: Study, make_queue: MakeQueue, rex: User, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    oldest = talked(pair_of_bots, [(True, True)])
    start_dialogue(pair_of_bots)
    by_readers = talked(pair_of_bots, [(True, True)])
    with rewriting():
        Label.objects.filter(turn__dialogue=by_readers).delete()
    judged_by_readers(by_readers, make_queue(1), {"sensible": True, "specific": True})
    start_dialogue(pair_of_bots)
    start_dialogue(pair_of_bots)

    some = find_dialogues(pair_of_bots, DialogueFilter(score="0.ssa"))
    assert (some.rows, some.scoreless) == ([by_readers, oldest], 3)
    assert find_dialogues(pair_of_bots, DialogueFilter()).scoreless == 0
    assert find_dialogues(pair_of_bots, DialogueFilter(lowest=99.0)).scoreless == 3
    assert neighbours(pair_of_bots, DialogueFilter(score="0.ssa"), by_readers) == (None, oldest.public_id)
    page = sign_in(rex).get(f"/studies/{pair_of_bots.pk}/dialogues/?score=0.ssa").content.decode()
    assert "3 conversations without SSA are left out." in page
    # Only those between the page's first and last conversation are counted.
    monkeypatch.setattr(explorer, "PER_PAGE", 1)
    first = find_dialogues(pair_of_bots, DialogueFilter(score="0.ssa"))
    second = find_dialogues(pair_of_bots, DialogueFilter(score="0.ssa"), after=first.older)
    assert (first.rows, first.scoreless, second.rows, second.scoreless) == ([by_readers], 2, [oldest], 1)


def test_a_rating_of_the_whole_conversation_is_its_score(make_study: MakeStudy) -> None:
    study = make_study(min_turns=2, max_turns=4, asks=[AskSpec("likert", About.DIALOGUE, Moment.AT_END)])
    dialogue = start_dialogue(study)
    keys = [question.key for question in explorer.ScoreQuery(study).questions.questions]
    Label.objects.create(
        dialogue=dialogue, rater=worker_of(dialogue), study=study, party=Party.CHATTER,
        ask=study.asks.get(), question_set="likert", answers=dict.fromkeys(keys, 4),
        created_at=timezone.now(), changed_at=timezone.now(),
    )  # fmt: skip

    assert listed(study, lowest=4.0, highest=4.0) == [dialogue]
    assert listed(study, lowest=4.1) == []


def test_it_is_disputed_where_most_readers_say_otherwise(pair_of_bots: Study, make_queue: MakeQueue) -> None:
    yes: dict[str, Answer] = {"sensible": True, "specific": False}
    no: dict[str, Answer] = {"sensible": False, "specific": False}
    disputed, agreed, split = (talked(pair_of_bots, [(True, False)]) for _ in range(3))
    queue = make_queue(1)
    judged_by_readers(disputed, queue, no, no, yes)
    judged_by_readers(agreed, queue, yes, yes, no)
    judged_by_readers(split, queue, yes, no)

    assert listed(pair_of_bots, disputed=True) == [disputed]


def test_labels_of_a_rehearsal_are_no_readers(pair_of_bots: Study, make_queue: MakeQueue) -> None:
    dialogue, queue = talked(pair_of_bots, [(True, True)]), make_queue(1)
    Study.objects.filter(pk=queue.pk).update(rehearsal_of=pair_of_bots)
    judged_by_readers(dialogue, queue, {"sensible": False, "specific": False})

    (row,) = listed(pair_of_bots)
    assert row.read_score is None
    assert listed(pair_of_bots, disputed=True) == []


def test_only_those_with_so_many_replies(pair_of_bots: Study) -> None:
    one, three = (talked(pair_of_bots, [(True, True)] * n) for n in (1, 3))
    start_dialogue(pair_of_bots)

    assert listed(pair_of_bots, replies=1) == [three, one]
    assert listed(pair_of_bots, replies=2) == listed(pair_of_bots, replies=3) == [three]
    assert listed(pair_of_bots, replies=4) == []


def test_the_other_filters(pair_of_bots: Study, ada: User) -> None:
    other, plain = (
        talked(pair_of_bots, [(True, True)], text="Tea, 100% sure"),
        talked(pair_of_bots, [(True, True)]),
    )
    under_way = start_dialogue(pair_of_bots)
    Fault.objects.create(dialogue=under_way, position=2, kind="Slow", at=timezone.now())
    name = pseudonym_of(other)
    Worker.objects.filter(pk=worker_of(plain).pk).update(panel="pid", panel_id="p-7")
    exclude(Participation.objects.get(worker=worker_of(plain)).pk, reason="Idle", by=ada)

    assert listed(pair_of_bots, text="tea") == [other]
    assert listed(pair_of_bots, text="100%") == [other]  # no pattern: a percent sign is itself
    assert listed(pair_of_bots, text="1_0") == []
    assert listed(pair_of_bots, worker=name.lower()) == [other]
    assert listed(pair_of_bots, worker="p-7") == listed(pair_of_bots, state="excluded") == [plain]
    assert listed(pair_of_bots, state="open") == listed(pair_of_bots, faults=True) == [under_way]
    assert listed(pair_of_bots, state="complete") == [plain, other]
    bot = other.seats.get(bot__isnull=False).bot
    assert bot
    mine = [each for each in (under_way, plain, other) if each.seats.filter(bot=bot).exists()]
    assert listed(pair_of_bots, bot=bot) == mine
    assert 0 < len(mine) < 3
    assert find_dialogues(pair_of_bots, DialogueFilter(text="tea")).rows[0].hit.position == 1


def test_pages_follow_each_other_and_say_how_far_they_looked(
    short: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explorer, "PER_PAGE", 2)
    monkeypatch.setattr(explorer, "SCAN_LIMIT", 3)
    oldest = [talked(short, [(True, True)], text=f"Number {n % 2}") for n in range(5)]
    newest = oldest[::-1]
    first = find_dialogues(short, DialogueFilter())

    assert (first.rows, first.total, first.scanned) == (newest[:2], 5, 0)
    second = find_dialogues(short, DialogueFilter(), after=first.older)
    third = find_dialogues(short, DialogueFilter(), after=second.older)
    assert (second.rows, third.rows, third.older) == (newest[2:4], newest[4:], None)

    # of 4 3 2 the even ones, then of 1 0
    some = find_dialogues(short, DialogueFilter(text="Number 0"))
    assert (some.rows, some.older, some.scanned) == ([newest[0], newest[2]], newest[2].public_id, 3)
    rest = find_dialogues(short, DialogueFilter(text="Number 0"), after=some.older)
    assert (rest.rows, rest.older) == ([newest[4]], None)
    assert neighbours(short, DialogueFilter(text="Number 0"), newest[2]) == (
        newest[0].public_id,
        newest[4].public_id,
    )
    assert neighbours(short, DialogueFilter(), newest[0]) == (None, newest[1].public_id)


def test_what_was_found_stays_on_the_way_through_it(short: Study, rex: User, sign_in: SignIn) -> None:
    first, _, third = (talked(short, [(True, True)], text=text) for text in ("Tea?", "No", "Tea!"))
    client = sign_in(rex)
    page = client.get(f"/studies/{short.pk}/dialogues/?text=tea&bot=&state=").content.decode()
    shown = client.get(f"/dialogues/{third.public_id}/?text=tea").content.decode()

    assert f'href="/dialogues/{third.public_id}/?text=tea#turn-1"' in page
    assert f'rel="next" href="/dialogues/{first.public_id}/?text=tea"' in shown
    assert 'rel="prev"' not in shown
    assert f'href="/studies/{short.pk}/dialogues/?text=tea"' in shown
    excluded = client.post(f"/dialogues/{third.public_id}/exclude/?text=tea", {"reason": "Bored"})
    assert excluded.headers["Location"] == f"/dialogues/{third.public_id}/?text=tea"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("lowest=much", "Enter a number"),
        ("lowest=90&highest=10", "at least 90 and at most 10"),
        ("bot=nobody", "Select a valid choice"),
        ("state=lost", "Select a valid choice"),
        ("lowest=nan", "Enter a number"),
        (f"text={'x' * 300}", "at most 200"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused_in_words(
    short: Study, rex: User, sign_in: SignIn, query: str, said: str
) -> None:
    answer = sign_in(rex).get(f"/studies/{short.pk}/dialogues/?{query}")

    assert answer.status_code == 422
    assert said in answer.content.decode()


def test_an_address_that_begins_nowhere_begins_with_the_newest(
    short: Study, rex: User, sign_in: SignIn
) -> None:
    start_dialogue(short)
    for after in ("x", "00000000-0000-4000-8000-000000000000"):
        assert (
            "1 conversation."
            in sign_in(rex).get(f"/studies/{short.pk}/dialogues/?after={after}").content.decode()
        )


def queries(client: Client, path: str) -> int:
    with CaptureQueriesContext(connection) as asked:
        assert client.get(path).status_code == 200
    return len(asked)


def test_few_queries_however_many_conversations(pair_of_bots: Study, rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)
    for _ in range(6):
        dialogue = talked(pair_of_bots, [(True, False)] * 3)

    for path in (
        f"/studies/{pair_of_bots.pk}/dialogues/",
        f"/studies/{pair_of_bots.pk}/dialogues/?text=well&lowest=1&disputed=on&bot=ann&worker=x&faults=on",
        f"/studies/{pair_of_bots.pk}/dialogues/?score=0.ssa",
        f"/dialogues/{dialogue.public_id}/?text=well&lowest=1",
    ):
        assert queries(client, path) <= 15
    assert Turn.objects.count() > 40
