import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection
from django.db.models import Count, F
from django.test import Client
from django.utils import timezone

from tests.conftest import MakeContexts, MakeQueue, MakeRun, MakeStudy, enter, start_dialogue, worker_of
from tests.desks import begin, held, item_of
from tests.rewriting import rewriting
from turnwise.bots.models import Bot
from turnwise.bots.services import version_of
from turnwise.crowd.models import Assignment, Outcome, Participation
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.dialogues.models import Dialogue, Seat
from turnwise.judging.items import subjects
from turnwise.judging.models import Item, Slot
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.rater_session import RaterSession, SavedJudgment
from turnwise.labels.models import Label
from turnwise.live.frames import RefusedError
from turnwise.responses.models import Response
from turnwise.studies.models import Study

YES = {"sensible": True, "specific": True}
NO = {"sensible": False}

pytestmark = pytest.mark.django_db


def judge(desk: RaterSession, key: str, answers: dict[str, bool] = YES) -> SavedJudgment:
    return judging.judge(desk, key=UUID(key), answers=answers)


def judge_all(desk: RaterSession) -> list[str]:
    """Judge until nothing is before this worker; the keys in their order."""
    done = []
    while keys := held(desk):
        judge(desk, keys[0])
        done.append(keys[0])
    return done


def first_page(study: Study) -> str:
    return Client().get(study.get_entry_url()).content.decode()


def expire(study: Study) -> None:
    """The time of every lease of the study is over."""
    leased = Slot.objects.filter(study=study, leased_until__isnull=False)
    leased.update(leased_until=timezone.now() - timedelta(seconds=1))


# --- exactly k raters ----------------------------------------------------------------------------


def test_every_item_is_judged_by_exactly_the_planned_number_of_raters(make_queue: MakeQueue) -> None:
    study = make_queue(4, raters=3)
    for _ in range(3):
        assert len(set(judge_all(begin(study)))) == 4

    assert Counter(Label.objects.values_list("response", flat=True)) == dict.fromkeys(
        Response.objects.values_list("pk", flat=True), 3
    )
    with pytest.raises(EntryRefusedError, match="nothing left"):
        begin(study)


def test_a_worker_without_items_gets_no_assignment(make_queue: MakeQueue) -> None:
    study = make_queue()
    participation = enter(study)

    with pytest.raises(EntryRefusedError):
        begin(study, participation)

    assert not Assignment.objects.filter(participation=participation).exists()


def test_a_judged_item_is_never_offered_to_the_same_worker_again(make_queue: MakeQueue) -> None:
    study = make_queue(2, raters=5)
    desk = begin(study)
    assert len(judge_all(desk)) == 2

    expire(study)

    assert held(desk) == []


def test_an_item_judged_in_another_study_is_not_offered(make_queue: MakeQueue, make_contexts: MakeContexts,
                                                        make_run: MakeRun) -> None:  # fmt: skip
    run = make_run(make_contexts(3), "Alpha")
    first, second = make_queue(), make_queue(question_set="human-likeness")
    for study in (first, second):
        subjects.add_responses(study, run)
    desk = begin(first)
    seen = item_of(held(desk)[0])
    judge(desk, str(seen.key))

    version = second.consent_versions.get()
    worker = Participation.objects.get(pk=desk.participation_id).worker
    again = begin(second, Participation.objects.create(worker=worker, study=second, consent=version))

    offered = {item_of(key).response_id for key in held(again)}
    assert len(offered) == 2
    assert seen.response_id not in offered


# --- leases --------------------------------------------------------------------------------------


def test_abandoned_items_go_to_others_when_the_lease_is_over(make_queue: MakeQueue) -> None:
    study = make_queue(2, raters=1)
    begin(study)
    with pytest.raises(EntryRefusedError, match="doing what is left"):
        begin(study)

    expire(study)

    assert len(held(begin(study))) == 2


def test_only_the_next_items_are_leased_not_the_whole_batch(make_queue: MakeQueue) -> None:
    study = make_queue(10, raters=1, batch=10)
    begin(study)

    assert Slot.objects.filter(study=study, batch__isnull=False).count() == judging.LEASED_AHEAD


def test_a_late_judgment_counts_unless_another_worker_has_the_item(make_queue: MakeQueue) -> None:
    study = make_queue(1, raters=1)
    desk = begin(study)
    key = held(desk)[0]
    expire(study)

    assert judge(desk, key).progress["done"] == 1


def test_a_judgment_of_a_reassigned_item_is_refused_with_an_explanation(make_queue: MakeQueue) -> None:
    study = make_queue(1, raters=1)
    late = begin(study)
    key = held(late)[0]
    expire(study)
    begin(study)

    with pytest.raises(RefusedError, match="Your earlier answers are safe") as refused:
        judge(late, key)

    assert refused.value.reason == "given_away"
    assert not Label.objects.exists()


def test_work_renews_the_lease_of_the_items_ahead(make_queue: MakeQueue) -> None:
    study = make_queue(5, lease=600)
    desk = begin(study)
    keys = held(desk)
    soon = timezone.now() + timedelta(seconds=100)
    Slot.objects.filter(key__in=keys, batch=desk.batch_id).update(leased_until=soon)

    judge(desk, keys[0])

    assert Slot.objects.get(key=keys[1], batch=desk.batch_id).leased_until > soon + timedelta(seconds=400)


# --- who may judge what --------------------------------------------------------------------------


def test_nobody_judges_their_own_conversation(make_queue: MakeQueue, study: Study) -> None:
    dialogue = finished(start_dialogue(study))
    queue = make_queue()
    assert subjects.add_turns(queue, study, language="en").items == 1
    own = Participation.objects.create(
        worker=worker_of(dialogue), study=queue, consent=queue.consent_versions.get()
    )

    with pytest.raises(EntryRefusedError):
        begin(queue, own)
    assert len(held(begin(queue))) == 1


def finished(dialogue: Dialogue) -> Dialogue:
    """One exchange after the opening, and the end, as an import writes it."""
    bot = dialogue.seats.get(bot__isnull=False).bot
    assert bot
    version = version_of(bot, {"code": uuid4().hex})
    for position, text in ((1, "Hello"), (2, "Go on.")):
        dialogue.turn_set.create(
            position=position, text=text, created_at=timezone.now(),
            bot_version=version if position == 2 else None,
        )  # fmt: skip
    Dialogue.objects.filter(pk=dialogue.pk).update(
        turns=3, bot_turns=1, min_turns=2, ended_at=timezone.now(), ending="complete"
    )
    return dialogue


def test_nobody_judges_their_own_response(make_queue: MakeQueue, make_contexts: MakeContexts,
                                          make_run: MakeRun) -> None:  # fmt: skip
    run, queue = make_run(make_contexts(1), "People"), make_queue()
    subjects.add_responses(queue, run)
    author = enter(make_queue())
    with rewriting():
        run.responses.update(author=author)
    own = Participation.objects.create(
        worker=author.worker, study=queue, consent=queue.consent_versions.get()
    )

    with pytest.raises(EntryRefusedError):
        begin(queue, own)


def test_a_worker_gets_items_of_their_language(make_queue: MakeQueue, make_contexts: MakeContexts,
                                               make_run: MakeRun) -> None:  # fmt: skip
    queue = make_queue(languages=["en", "zh"])
    for language in ("en", "zh", "de"):
        subjects.add_responses(queue, make_run(make_contexts(2, language=language), language))

    languages = {item_of(key).language for key in judge_all(begin(queue, language="zh"))}

    assert languages == {"zh"}
    assert not Item.objects.filter(language="de").exists()


def test_the_order_mixes_the_systems(make_queue: MakeQueue, make_contexts: MakeContexts,
                                     make_run: MakeRun) -> None:  # fmt: skip
    contexts, queue = make_contexts(40), make_queue(batch=80)
    for system in ("Alpha", "Beta"):
        subjects.add_responses(queue, make_run(contexts, system))

    keys = judge_all(begin(queue))
    systems = [Response.objects.get(items__key=key).run.system for key in keys]

    # 40 of each in random order: the first half holds all of one system once in 10^22 runs.
    assert set(systems[:40]) == {"Alpha", "Beta"}
    assert keys == sorted(keys)


def test_no_frame_names_the_system(make_queue: MakeQueue) -> None:
    shown = judging.state(begin(make_queue(1)))["items"][0]

    assert shown.keys() == {"key", "ask", "context", "text", "language"}
    assert shown["context"] == ["Question 1?"]


# --- a batch -------------------------------------------------------------------------------------


def test_a_batch_has_as_many_items_as_the_plan_says(make_queue: MakeQueue) -> None:
    desk = begin(make_queue(5, batch=3))

    assert len(judge_all(desk)) == 3
    judging.finish(desk)

    assert Assignment.objects.get(pk=desk.assignment_id).outcome == Outcome.COMPLETE


def test_a_batch_cannot_be_finished_while_an_item_waits(make_queue: MakeQueue) -> None:
    desk = begin(make_queue(2))

    with pytest.raises(RefusedError, match="still items to judge"):
        judging.finish(desk)


def test_a_batch_has_what_is_left_and_can_be_finished_if_others_take_it(make_queue: MakeQueue) -> None:
    queue = make_queue(5, raters=1, batch=50)
    assert len(held(begin(queue))) == 3
    desk = begin(queue)
    last = [judge(desk, key) for key in held(desk)][-1]

    assert last.progress == {"done": 2, "size": 5, "may_finish": True}
    judging.finish(desk)


def test_an_answer_can_be_changed_until_the_batch_is_finished(make_queue: MakeQueue) -> None:
    desk = begin(make_queue(1))
    key = held(desk)[0]
    judge(desk, key)

    assert judge(desk, key, NO).progress["done"] == 1
    label = Label.objects.get()
    assert label.answers == {"sensible": False, "specific": False}
    assert label.changes == 1
    judging.finish(desk)
    with pytest.raises(RefusedError, match="You have finished"):
        judge(desk, key)


def test_a_resent_judgment_changes_nothing_and_returns_the_leased_items(make_queue: MakeQueue) -> None:
    desk = begin(make_queue(5))
    key = held(desk)[0]

    first, again = judge(desk, key), judge(desk, key)

    assert again.progress == first.progress
    assert len(first.leased) == 1
    assert [item["key"] for item in again.leased] == held(desk)
    assert first.leased[0] in again.leased
    assert Label.objects.get().changes == 0


def test_invalid_answers_are_refused(make_queue: MakeQueue) -> None:
    desk = begin(make_queue(1))

    with pytest.raises(RefusedError, match="asked only if"):
        judge(desk, held(desk)[0], {"sensible": False, "specific": True})


def test_beginning_twice_gives_the_same_batch(make_queue: MakeQueue) -> None:
    study = make_queue(3)
    participation = enter(study)

    assert begin(study, participation) == begin(study, participation)


# --- what is judged ------------------------------------------------------------------------------


def test_adding_the_same_responses_twice_adds_nothing(make_queue: MakeQueue, make_contexts: MakeContexts,
                                                      make_run: MakeRun) -> None:  # fmt: skip
    queue, run = make_queue(raters=2), make_run(make_contexts(3), "Alpha")

    assert subjects.add_responses(queue, run).items == 3
    assert subjects.add_responses(queue, run).items == 0
    assert Slot.objects.filter(study=queue).count() == 6


def test_a_sample_of_conversations_grows_and_keeps_the_earlier_ones(
    make_queue: MakeQueue, study: Study
) -> None:
    for _ in range(4):
        finished(start_dialogue(study))
    queue = make_queue()

    assert subjects.add_turns(queue, study, language="en", conversations=2).items == 2
    assert subjects.add_turns(queue, study, language="en", conversations=3).items == 1


def test_a_sample_has_as_many_conversations_of_each_system(
    make_queue: MakeQueue, make_study: MakeStudy
) -> None:
    study = make_study({"ann": 100, "bob": 100})
    ann, bob = Bot.objects.order_by("name")
    for number in range(10):
        dialogue = finished(start_dialogue(study))
        dialogue.seats.filter(bot__isnull=False).update(bot=bob if number < 3 else ann)
    queue = make_queue()

    subjects.add_turns(queue, study, language="en", conversations=6)

    drawn = Seat.objects.filter(bot__isnull=False, dialogue__turn_set__items__study=queue)
    assert Counter(drawn.values_list("bot__name", flat=True)) == {"ann": 3, "bob": 3}


def test_the_scripted_opening_and_the_workers_turns_are_not_judged(
    make_queue: MakeQueue, study: Study
) -> None:
    finished(start_dialogue(study))
    queue = make_queue()
    subjects.add_turns(queue, study, language="en")

    shown = judging.state(begin(queue))["items"]

    assert [(item["context"], item["text"]) for item in shown] == [(["Hi!", "Hello"], "Go on.")]


def test_questions_that_do_not_fit_the_subject_are_refused(make_queue: MakeQueue, study: Study) -> None:
    with pytest.raises(ValidationError, match="only about responses or single turns"):
        subjects.add_dialogues(make_queue(), study, language="en")


def test_whole_conversations_are_judged_with_questions_about_them(
    make_queue: MakeQueue, study: Study
) -> None:
    finished(start_dialogue(study))
    queue = make_queue(question_set="likert")
    assert subjects.add_dialogues(queue, study, language="en").items == 1
    desk = begin(queue)
    (shown,) = judging.state(desk)["items"]

    ratings = {"quality": 5, "fluency": 7, "diversity": 3, "relatedness": 4, "empathy": 2}
    judging.judge(desk, key=UUID(shown["key"]), answers=ratings)

    assert (shown["context"], shown["text"]) == (["Hi!", "Hello", "Go on."], None)
    label = Label.objects.get()
    assert (label.answers, label.dialogue) == (ratings, Dialogue.objects.get())
    assert label.ask == queue.asks.get()


def test_conversations_of_another_language_are_refused(make_queue: MakeQueue, study: Study) -> None:
    with pytest.raises(ValidationError, match="not a language of both studies"):
        subjects.add_turns(make_queue(languages=["zh"]), study, language="en")


@pytest.mark.parametrize("raters", [1, 2, 7])
def test_another_number_of_raters_changes_the_slots_of_all_items(make_queue: MakeQueue, raters: int) -> None:
    study = make_queue(3, raters=4)
    judge_all(begin(study))
    plan = judging.plan_of(study)
    plan.raters_per_item = raters

    subjects.save_plan(plan)

    slots = Item.objects.filter(study=study).annotate(n=Count("slots")).values_list("n", flat=True)
    assert list(slots) == [raters] * 3
    assert Slot.objects.filter(label__isnull=False).count() == 3


# --- what the database refuses -------------------------------------------------------------------


def test_database_refuses_a_caption_of_two_subjects(make_queue: MakeQueue, study: Study) -> None:
    desk = begin(make_queue(1))
    judge(desk, held(desk)[0])

    with pytest.raises(IntegrityError, match="label_has_one_subject"), rewriting():
        Label.objects.update(dialogue=start_dialogue(study))


def test_database_refuses_a_second_label_of_the_same_response(make_queue: MakeQueue) -> None:
    desk = begin(make_queue(1))
    judge(desk, held(desk)[0])
    label = Label.objects.get()
    label.pk = None

    with pytest.raises(IntegrityError, match="label_of_response_once_per_rater"), rewriting():
        label.save()


def test_database_refuses_the_same_item_twice_in_a_batch(make_queue: MakeQueue) -> None:
    desk = begin(make_queue(1, raters=2))

    with pytest.raises(IntegrityError, match="slot_once_per_batch"):
        Slot.objects.filter(key=held(desk)[0]).update(batch=desk.batch_id, number=F("number"))


def test_items_judged_by_a_withdrawn_worker_return_to_the_pool(make_queue: MakeQueue) -> None:
    study = make_queue(2, raters=1)
    desk = begin(study)
    judge(desk, held(desk)[0])

    with rewriting():
        Participation.objects.get(pk=desk.participation_id).worker.delete()
    expire(study)

    assert not Label.objects.exists()
    assert len(judge_all(begin(study))) == 2


@pytest.mark.django_db(transaction=True)
def test_concurrent_additions_add_everything_once(
    make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    queue, run = make_queue(raters=3), make_run(make_contexts(20), "Alpha")
    together = threading.Barrier(4)

    def add() -> int:
        try:
            together.wait(timeout=120)
            return subjects.add_responses(queue, run).items
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as people:
        added = [each.result() for each in [people.submit(add) for _ in range(4)]]

    assert sum(added) == 20
    assert Slot.objects.filter(study=queue).count() == 60


def test_the_page_says_that_the_pay_is_for_the_whole_batch(make_queue: MakeQueue) -> None:
    study = make_queue(2, batch=10, pay_amount=4)

    page = first_page(study)

    assert "up to 10 short texts" in page
    assert "4.00 USD in total" in page


# --- full ----------------------------------------------------------------------------------------


def test_a_judged_or_leased_queue_refuses_workers_before_consent(make_queue: MakeQueue) -> None:
    study = make_queue(3, raters=1, batch=10)
    assert "agree to take part" in first_page(study)

    desk = begin(study)  # holds three ahead
    assert "try again in an hour" in first_page(study)

    expire(study)
    assert "agree to take part" in first_page(study)

    judge_all(desk)
    assert "All places are taken" in first_page(study)
    assert "in an hour" not in first_page(study)


def test_no_place_is_promised_before_its_lease_ends(make_queue: MakeQueue) -> None:
    study = make_queue(1, raters=1, lease=2 * 3600)
    begin(study)

    assert "All places are taken" in first_page(study)
    assert "in an hour" not in first_page(study)
    with pytest.raises(EntryRefusedError) as refusal:
        begin(study)
    assert "in an hour" not in refusal.value.cure


def test_no_worker_waits_for_an_item_of_another_language(make_queue: MakeQueue, make_contexts: MakeContexts,
                                                      make_run: MakeRun) -> None:  # fmt: skip
    study = make_queue(raters=1, languages=["en", "zh"])
    for language in ("en", "zh"):
        subjects.add_responses(study, make_run(make_contexts(1, language=language), language))
    judge_all(begin(study, language="en"))
    begin(study, language="zh")

    with pytest.raises(EntryRefusedError, match="nothing left"):
        begin(study, language="en")
    with pytest.raises(EntryRefusedError, match="doing what is left"):
        begin(study, language="zh")
