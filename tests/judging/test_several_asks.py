"""A judging study that asks readers several things: who is asked what, in which order; what comes out."""

import csv
import io
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import groupby
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from evaluation.planning.sequential import always_valid_mean
from evaluation.questions import Answer, question_set
from evaluation.report.bundles.recomputation import recompute
from tests.asking import ANSWERS, LIKENESS, LIKERT, SCALES, SSA, asking, judge_all
from tests.conftest import MakeContexts, MakeRun, enter
from tests.desks import begin, held, item_of
from tests.planted import SignIn, computed, figures
from tests.studies.test_presets import called
from turnwise.accounts.models import User
from turnwise.crowd.models import Participation
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.dialogues.models import Dialogue
from turnwise.exports.bundle import write_bundle
from turnwise.exports.turn_files import csv_lines
from turnwise.judging.gold import gold_items
from turnwise.judging.gold.gold_items import Gold
from turnwise.judging.items import pairs, subjects
from turnwise.judging.items.item_selection import select_dialogues, select_responses, select_turns
from turnwise.judging.items.pairs import PairSource
from turnwise.judging.models import Item, Slot
from turnwise.judging.queries import system_counts
from turnwise.judging.queue import services as judging
from turnwise.judging.queue import training
from turnwise.judging.queue.queued_task import ask_counts
from turnwise.judging.queue.rater_session import RaterSession
from turnwise.labels.models import Label
from turnwise.live.frames import RefusedError
from turnwise.responses.models import ResponseRun
from turnwise.studies.asks import About, AskSpec
from turnwise.studies.models import Study
from turnwise.studies.queries import counts_of
from turnwise.studies.services import clone, save_study, set_state

pytestmark = pytest.mark.django_db(transaction=True)

MakeAsking = Callable[..., Study]


@pytest.fixture
def make_asking(rex: User) -> MakeAsking:
    return partial(asking, rex)


# --- what comes into the queue --------------------------------------------------------------------


def test_two_asks_about_one_thing_have_an_item_each(two: Study) -> None:
    counted = Counter(two.items.values_list("ask__question_set", flat=True))

    assert counted == {"ssa": 6, "human-likeness": 6}
    assert [(row.ask.question_set, row.items, row.wanted) for row in ask_counts(two)] == [
        ("ssa", 6, 12), ("human-likeness", 6, 12),
    ]  # fmt: skip
    assert [(row.system, row.items, row.wanted) for row in system_counts(two)] == [
        ("Alpha", 6, 12), ("Beta", 6, 12),
    ]  # fmt: skip


def test_items_belong_to_the_asks_about_their_subject(mixed: Study, talks: Study) -> None:
    found = {(item.ask.question_set, item.turn_id is None) for item in mixed.items.select_related("ask")}

    assert found == {("ssa", False), ("likert", True)}
    counts = [(row.ask.question_set, row.items) for row in ask_counts(mixed)]
    assert counts == [("ssa", mixed.items.filter(dialogue=None).count()), ("likert", 3)]
    assert select_turns(mixed, talks, language="en").count() == 0
    assert select_dialogues(mixed, talks, language="en").count() == 0


def test_the_preview_counts_new_items_for_each_ask(
    make_asking: MakeAsking, make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    study, run = make_asking(SSA, LIKENESS), make_run(make_contexts(4), "Alpha")

    foreseen = {ask.question_set: n for ask, n in select_responses(study, [run]).count_by_ask().items()}

    assert foreseen == {"ssa": 4, "human-likeness": 4}
    assert subjects.add_selection(select_responses(study, [run])) == 8


def test_subjects_without_an_ask_are_refused(make_asking: MakeAsking, talks: Study) -> None:
    study = make_asking(SSA, LIKENESS)

    with pytest.raises(ValidationError, match="“Human-likeness” cannot be asked about whole conversations"):
        select_dialogues(study, talks, language="en")


def test_an_item_belongs_to_an_ask_of_its_study(two: Study, mixed: Study) -> None:
    one = two.items.filter(pk=two.items.order_by("pk")[0].pk)

    with pytest.raises(IntegrityError, match="item_is_of_an_ask_of_its_study"):
        one.update(
            ask=mixed.work_asks[0]
        )  # a transaction of its own, at whose end the constraint is looked at


def test_a_study_with_an_ask_without_items_cannot_be_opened(make_asking: MakeAsking, talks: Study) -> None:
    study = make_asking(SSA, LIKERT)
    subjects.add_turns(study, talks, language="en")

    with pytest.raises(ValidationError, match="nothing in the queue yet for “Five ratings"):
        set_state(study.pk, Study.State.OPEN)


# --- before it opens --------------------------------------------------------------------------------


def stored(study: Study) -> list[tuple[int, str, int]]:
    study = Study.objects.get(pk=study.pk)
    return [(ask.number, ask.question_set, ask.items.count()) for ask in study.work_asks]


def save(study: Study, *asks: AskSpec) -> None:
    save_study(study, owner=study.owner, consent_text="You judge.", targets={}, asks=asks)


@pytest.fixture
def draft(make_asking: MakeAsking, make_contexts: MakeContexts, make_run: MakeRun) -> Study:
    study = make_asking(SSA, LIKENESS)
    subjects.add_responses(study, make_run(make_contexts(3), "Alpha"))
    return study


def test_reordered_asks_keep_their_items(draft: Study) -> None:
    save(draft, LIKENESS, SSA)

    assert stored(draft) == [(0, "human-likeness", 3), (1, "ssa", 3)]
    assert all(item.key.bytes[0] == item.ask.number for item in draft.items.select_related("ask"))
    assert all(slot.key == slot.item.key for slot in Slot.objects.select_related("item"))


def test_a_removed_ask_takes_its_items_along(draft: Study) -> None:
    save(draft, LIKENESS)

    assert stored(draft) == [(0, "human-likeness", 3)]
    assert Item.objects.count() == 3
    assert Slot.objects.count() == 6


def test_another_question_set_about_the_same_subject_keeps_the_items(draft: Study) -> None:
    save(draft, SSA, AskSpec("reply-impression", About.RESPONSE))

    assert stored(draft) == [(0, "ssa", 3), (1, "reply-impression", 3)]


def test_a_copy_has_the_items_of_each_ask(two: Study) -> None:
    copy = clone(two, owner=two.owner)

    assert stored(copy) == [(0, "ssa", 6), (1, "human-likeness", 6)]


def test_asks_are_fixed_once_the_study_is_open(two: Study) -> None:
    with pytest.raises(ValidationError, match="has been opened"):
        save(two, SSA)


# --- what workers get ---------------------------------------------------------------------------------


def test_a_worker_answers_one_ask_after_the_other_about_the_same_things(two: Study) -> None:
    done = judge_all(begin(two))

    assert len(done) == 12  # everything once for each ask, in one batch
    assert len([number for number, _ in groupby(item.ask_id for item in done)]) == 2
    assert Counter(Label.objects.values_list("response").distinct()) == Counter(
        {(item.response_id,): 1 for item in done}
    )
    for label in Label.objects.select_related("ask"):
        assert label.question_set == label.ask.question_set  # type: ignore[union-attr]
        assert label.answers == ANSWERS[label.question_set]


def test_each_item_names_its_ask(two: Study) -> None:
    desk = begin(two)

    for item in judging.state(desk)["items"]:
        assert item["ask"] == item_of(item["key"]).ask.number
        assert item["ask"] == UUID(item["key"]).bytes[0]


def test_answers_to_the_other_questions_are_refused(two: Study) -> None:
    desk = begin(two)
    item = Item.objects.select_related("ask").get(key=held(desk)[0])
    (other,) = {"ssa", "human-likeness"} - {item.ask.question_set}

    with pytest.raises(RefusedError):
        judging.judge(desk, key=item.key, answers=ANSWERS[other])
    assert not Label.objects.exists()


def test_a_key_with_the_wrong_ask_saves_nothing(two: Study) -> None:
    desk = begin(two)
    key = UUID(held(desk)[0])
    lying = UUID(bytes=bytes([1 - key.bytes[0]]) + key.bytes[1:])
    unknown = UUID(bytes=bytes([9]) + key.bytes[1:])

    for sent in (lying, unknown):
        for answers in ANSWERS.values():
            with pytest.raises(RefusedError):
                judging.judge(desk, key=sent, answers=answers)
    assert not Label.objects.exists()


def test_everything_is_judged_by_the_planned_number_of_workers_and_never_twice_by_one(two: Study) -> None:
    while not judging.is_judged(two, timezone.now()):
        judge_all(begin(two))

    assert counts_of([two]) == {two.pk: (24, 24)}
    given = Counter(Label.objects.values_list("ask", "response", "rater"))
    assert set(given.values()) == {1}
    assert set(Counter(Label.objects.values_list("ask", "response")).values()) == {2}


def test_a_batch_begins_with_an_ask_that_has_items_left(two: Study) -> None:
    first, second = two.work_asks
    Slot.objects.filter(item__ask=first).delete()

    assert {item_of(key).ask for _ in range(4) for key in held(begin(two))} == {second}


def test_a_worker_who_judged_it_in_another_study_does_not_get_it_with_other_questions(
    two: Study, make_asking: MakeAsking
) -> None:
    judged = enter(two)
    judge_all(begin(two, judged))
    other = clone(two, owner=two.owner)
    other = set_state(other.pk, Study.State.OPEN)
    again = Participation.objects.get(pk=enter(other).pk)
    Participation.objects.filter(pk=again.pk).update(worker=judged.worker)
    again.refresh_from_db()

    with pytest.raises(EntryRefusedError):
        begin(other, again)


def test_a_chatter_judges_neither_the_turns_nor_the_whole_of_their_conversation(mixed: Study) -> None:
    talker = Dialogue.objects.order_by("pk")[0].seats.get(worker__isnull=False).worker
    participation = enter(mixed)
    Participation.objects.filter(pk=participation.pk).update(worker=talker)
    participation.refresh_from_db()

    done = judge_all(begin(mixed, participation))

    judged = {item.turn.dialogue_id if item.turn else item.dialogue_id for item in done}
    assert len(judged) == 2


def test_a_third_rater_judges_only_items_with_different_answers(
    make_asking: MakeAsking, make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    study = make_asking(SSA, LIKENESS, third_rater=True)
    subjects.add_responses(study, make_run(make_contexts(2), "Alpha"))
    study = set_state(study.pk, Study.State.OPEN)
    judge_all(begin(study))
    judge_all(begin(study), ANSWERS | {"human-likeness": {"human_like": False}})

    wanted = Slot.objects.filter(study=study, label=None).select_related("item__ask")

    assert {slot.item.ask.question_set for slot in wanted} == {"human-likeness"}
    assert len(wanted) == 2


def test_gold_items_belong_to_the_current_ask(
    make_asking: MakeAsking, make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    study = make_asking(SSA, LIKENESS, raters=1, batch=12)
    subjects.add_responses(study, make_run(make_contexts(8), "Alpha"))
    of_each = [list(ask.items.order_by("pk")[:2]) for ask in study.work_asks]
    right: list[dict[str, list[Answer]]] = [{"sensible": [True]}, {"human_like": [False]}]
    wanted = {item.key: Gold(right[n]) for n, items in enumerate(of_each) for item in items}
    gold_items.declare_gold(study, wanted)
    gold_items.set_gold_per_worker(study, 4)
    study = set_state(study.pk, Study.State.OPEN)

    done = judge_all(begin(study))

    assert len([number for number, _ in groupby(item.ask_id for item in done)]) == 2
    assert sum(item.right_answers is None for item in done) == 12
    golden = [item.ask.question_set for item in done if item.right_answers]
    assert len(golden) >= 2  # when four are due is left to chance, and there are two of each ask
    (row,) = gold_items.gold_counts(study)
    assert (row.right, row.judged) == (golden.count("ssa"), len(golden))


def test_right_answers_match_the_questions_of_the_item(draft: Study) -> None:
    ssa, likeness = (ask.items.order_by("pk")[0] for ask in draft.work_asks)
    rows = [("item", "question", "right"), (ssa.key, "sensible", "Yes"), (likeness.key, "human_like", "No")]

    text = "\n".join(",".join(map(str, row)) for row in rows)
    assert gold_items.declare_gold(draft, gold_items.parse_gold_file(text, draft)) == 2
    with pytest.raises(ValidationError, match="“human_like” is not a question"):
        gold_items.parse_gold_file(f"item,question,right\n{ssa.key},human_like,No\n", draft)
    with pytest.raises(ValidationError, match="“sensible” is not a question"):
        gold_items.declare_gold(draft, {likeness.key: Gold({"sensible": [True]})})


def test_workers_train_with_each_set_that_has_training_questions(draft: Study) -> None:
    plan = judging.plan_of(draft)
    plan.training_tries = 2
    subjects.save_plan(plan)

    sets = Counter(questions.key for questions, _example in training.examples_of(draft))

    own = {key: len(question_set(key).examples[1:]) for key in ("ssa", "human-likeness")}
    assert sets == {key: n for key, n in own.items() if n}


def test_pilot_items_are_judged_again_for_each_ask(two: Study) -> None:
    Study.objects.filter(pk=two.pk).update(pilot_size=1, primary_analysis="without_excluded")
    participation = enter(two)
    Participation.objects.filter(pk=participation.pk).update(pilot=True)
    judge_all(begin(two, participation))
    Study.objects.filter(pk=two.pk).update(pilot_over_at=timezone.now())
    two.refresh_from_db()

    with transaction.atomic():
        judging.requeue_pilot_judgments(two)

    assert counts_of([two]) == {two.pk: (0, 24)}


# --- what comes out ------------------------------------------------------------------------------------


@pytest.fixture
def judged(mixed: Study) -> Study:
    """Each item twice; the first system is rated 4 by one and 6 by the other."""
    judge_all(begin(mixed))
    judge_all(begin(mixed), ANSWERS | {"likert": dict.fromkeys(SCALES, 6)})
    return mixed


def test_the_report_has_each_ask(judged: Study, rex: User, sign_in: SignIn) -> None:
    result = figures(computed(judged))

    (bot,) = result["bots"]
    replies = judged.items.filter(dialogue=None).count()
    assert (result["question_set"], bot["turns"], bot["labels"]) == ("ssa", replies, 2 * replies)
    assert [cell["value"] for cell in bot["cells"]] == [100, 0, 50]
    (beside,) = result["beside"]
    assert (beside["question_set"], beside["about"]) == ("likert", "dialogue")
    (whole,) = beside["bots"]
    assert (whole["turns"], whole["labels"]) == (3, 6)
    assert [cell["value"] for cell in whole["cells"]] == [5] * 5 + [25]
    assert result["raters_per_item"] == [{"raters": 2, "items": replies}]
    assert beside["raters_per_item"] == [{"raters": 2, "items": 3}]

    page = sign_in(rex).get(f"/studies/{judged.pk}/report/").content.decode()
    assert "Five ratings of a whole conversation, 1 to 7</h2>" in page
    assert "?ask=1&amp;system=" in page


def test_each_ask_has_an_always_valid_lead(two: Study, rex: User, sign_in: SignIn) -> None:
    Study.objects.filter(pk=two.pk).update(state=Study.State.DRAFT)
    plan = judging.plan_of(two)
    plan.raters_per_item = 6
    subjects.save_plan(plan)
    study = set_state(two.pk, Study.State.OPEN)
    begin_and_leave = begin(study)  # judges one item only, and so counts in no lead
    judge_one(begin_and_leave, alpha=True)
    leads = [0.5, 1.0, 0.0, 0.5, 1.0]
    for lead in leads:
        judge_by_system(begin(study), lead)

    result = figures(computed(study))

    # Who finished first comes first, by either ask. Each worker judges all six items of each: Alpha is always
    # sensible and human-like, of Beta's three so many are not.
    apart = [round(3 * lead) / 3 for lead in leads]
    for part in (result, *result["beside"]):
        (lead,) = [part["always_valid"]]
        expected = always_valid_mean((np.array(apart) + 1) / 2, 0.95).now()
        assert (lead["unit"], lead["units"]) == ("rater", 5)
        assert lead["low"] == pytest.approx(100 * (2 * expected.low - 1))  # type: ignore[union-attr]
        assert lead["high"] == pytest.approx(100 * (2 * expected.high - 1))  # type: ignore[union-attr]
    page = sign_in(rex).get(f"/studies/{study.pk}/report/").content.decode()
    assert page.count("raters with a whole batch") == 2
    assert page.count('<p class="answer">') == 3  # the first ask's, the other's below it and in its part
    assert f'<a href="#ask-1">{result["beside"][0]["title"]}</a>' in page


def judge_one(desk: RaterSession, *, alpha: bool) -> None:
    judge_by_system(desk, float(alpha), at_most=1)


def judge_by_system(desk: RaterSession, lead: float, *, at_most: int = 99) -> None:
    """Alpha is always good; of Beta's three responses, so large a share is not, by either ask."""
    bad = {f"c{number}" for number in range(1, 1 + round(3 * lead))}
    for _ in range(at_most):
        keys = held(desk)
        if not keys:
            return
        item = Item.objects.select_related("ask", "response__run", "response__context").get(key=keys[0])
        assert item.response
        is_good = item.response.run.system == "Alpha" or item.response.context.key not in bad
        answers = {"human_like": is_good} if item.ask.number else {"sensible": is_good, "specific": is_good}
        judging.judge(desk, key=item.key, answers=answers)


def test_asks_beyond_the_protocol_are_departures(judged: Study) -> None:
    Study.objects.filter(pk=judged.pk).update(protocol="meena-read")

    told = figures(computed(judged))["deviations"]

    beside = "This study also asks “Five ratings of a whole conversation, 1 to 7”"
    assert any(beside in each for each in told), told


def test_the_bundle_gives_the_report_bit_by_bit(judged: Study, tmp_path: Path) -> None:
    with (tmp_path / "bundle.zip").open("wb") as stream:
        write_bundle(judged.pk, stream)

    found = recompute(tmp_path / "bundle.zip")

    assert found.differences == []
    assert found.report["beside"][0]["bots"]


def test_files_name_the_ask_of_each_judgment(judged: Study) -> None:
    rows = list(csv.DictReader(io.StringIO("".join(csv_lines(judged)))))

    asked = Counter((row["ask"], row["question_set"], row["subject"]) for row in rows)
    replies = judged.items.filter(dialogue=None).count()
    assert asked == {("0", "ssa", "turn"): 2 * replies, ("1", "likert", "dialogue"): 6}
    assert {row["quality"] for row in rows if row["ask"] == "1"} == {"4", "6"}


def test_the_pages_show_each_ask(judged: Study, rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)
    whole = judged.items.filter(turn=None).first()
    assert whole

    queue = client.get(f"/studies/{judged.pk}/queue/").content.decode()
    first = client.get(f"/studies/{judged.pk}/items/").content.decode()
    second = client.get(f"/studies/{judged.pk}/items/?ask=1").content.decode()
    item = client.get(f"/studies/{judged.pk}/items/{whole.key}/").content.decode()

    assert "one item for each question set" in queue
    assert str(whole.key) not in first
    assert str(whole.key) in second
    assert "Judged with" in item
    assert "quality" in item.lower()


def test_a_random_key_has_the_number_of_its_ask_before_it(two: Study) -> None:
    keys = [item.key for item in two.items.all()]

    assert len({key.bytes[1:] for key in keys}) == len(keys)
    assert {key.bytes[0] for key in keys} == {0, 1}


def test_the_api_changes_asks_until_the_study_opens(draft: Study) -> None:
    address = f"/api/studies/{draft.code}/asks"
    wanted = [
        {"question_set": "likert", "about": "dialogue", "moment": "", "required": True},
        {"question_set": "ssa", "about": "response", "moment": "", "required": True},
    ]

    assert called(draft.owner, "PUT", address, wanted).json() == wanted
    assert called(draft.owner, "GET", address).json() == wanted
    assert stored(draft) == [(0, "likert", 0), (1, "ssa", 3)]
    unknown = called(draft.owner, "PUT", address, [wanted[0] | {"question_set": "nothing-v1"}])
    assert (unknown.status_code, "nothing-v1" in unknown.content.decode()) == (422, True)
    Study.objects.filter(pk=draft.pk).update(state=Study.State.OPEN)
    opened = called(draft.owner, "PUT", address, wanted[1:])
    assert (opened.status_code, "has been opened" in opened.content.decode()) == (422, True)


# --- pairs ----------------------------------------------------------------------------------------------


@pytest.fixture
def compared(rex: User, make_contexts: MakeContexts, make_run: MakeRun) -> Study:
    """Open: two sets of questions about the same four pairs."""
    asks = [AskSpec("preference", About.PAIR), AskSpec("preferences", About.PAIR)]
    study = asking(rex, *asks, batch=8, task="pairs")
    contexts = make_contexts(4)
    runs = [make_run(contexts, system) for system in ("Alpha", "Beta")]
    source = PairSource.of_runs(runs)
    assert pairs.preview(study, source).items == 8
    assert pairs.add(study, source) == 8
    assert pairs.add(study, source) == 0
    return set_state(study.pk, Study.State.OPEN)


def preferred(desk: RaterSession) -> list[Item]:
    """Whoever compares always prefers Alpha, and what is asked beside is tied; the items in their order."""
    done = []
    while shown := judging.state(desk)["items"]:
        item = Item.objects.select_related("ask").get(key=shown[0]["key"])
        first = "first" if shown[0]["sides"][0]["texts"][0].startswith("Alpha") else "second"
        questions = question_set(item.ask.question_set).questions
        sides = {question.key: first if item.ask.number == 0 else "tied" for question in questions}
        judging.judge(desk, key=item.key, answers={k: v for k, v in sides.items() if k != "comment"})
        done.append(item)
    return done


def test_studies_of_pairs_have_several_asks_too(
    compared: Study, tmp_path: Path, rex: User, sign_in: SignIn
) -> None:
    for _ in range(2):
        done = preferred(begin(compared))
        assert len([number for number, _ in groupby(item.ask_id for item in done)]) == 2

    result = figures(computed(compared))
    (beside,) = result["beside"]
    assert (result["question_set"], beside["question_set"]) == ("preference", "preferences")
    (meeting,) = result["preferences"][0]["meetings"]
    assert (meeting["wins"], meeting["losses"], meeting["ties"]) == (8, 0, 0)
    (other,) = beside["preferences"][0]["meetings"]
    assert (other["wins"], other["losses"], other["ties"]) == (0, 0, 8)
    page = sign_in(rex).get(f"/studies/{compared.pk}/report/").content.decode()
    assert f"{beside['title']}</h2>" in page
    with (tmp_path / "bundle.zip").open("wb") as stream:
        write_bundle(compared.pk, stream)
    assert recompute(tmp_path / "bundle.zip").differences == []


def test_pairs_are_added_for_a_later_ask(compared: Study) -> None:
    Study.objects.filter(pk=compared.pk).update(state=Study.State.DRAFT)
    save(Study.objects.get(pk=compared.pk), AskSpec("preference", About.PAIR))
    later = Study.objects.get(pk=compared.pk)
    save(later, AskSpec("preference", About.PAIR), AskSpec("preferences", About.PAIR))
    assert stored(later) == [(0, "preference", 4), (1, "preferences", 0)]

    later = Study.objects.get(pk=compared.pk)
    assert pairs.add(later, PairSource.of_runs(ResponseRun.objects.all())) == 4

    assert stored(later) == [(0, "preference", 4), (1, "preferences", 4)]
