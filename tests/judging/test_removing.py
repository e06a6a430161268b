"""Systems taken out of a queue, and put back."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone

from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeContexts, MakeQueue, MakeRun
from tests.desks import begin, held, item_of
from tests.planted import computed
from turnwise.accounts.models import User
from turnwise.crowd.places import pilot
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.judging.gold import gold_items
from turnwise.judging.gold.gold_items import Gold
from turnwise.judging.items import removal, subjects
from turnwise.judging.models import Battery, Item, Slot
from turnwise.judging.queries import SystemCount, system_counts
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.rater_session import RaterSession
from turnwise.labels.models import Label
from turnwise.live.frames import RefusedError
from turnwise.responses.models import Response
from turnwise.studies.models import Study
from turnwise.studies.queries import counts_of
from turnwise.studies.services import clone, set_state

pytestmark = pytest.mark.django_db

YES = {"sensible": True, "specific": True}


def judge(desk: RaterSession, key: str) -> None:
    judging.judge(desk, key=UUID(key), answers=YES)


def judge_all(desk: RaterSession) -> list[str]:
    done = []
    while keys := held(desk):
        judge(desk, keys[0])
        done.append(keys[0])
    return done


def system_at(key: str) -> str:
    return Response.objects.get(items__key=key).run.system


def count_of(study: Study, system: str) -> SystemCount:
    return next(row for row in system_counts(study) if row.system == system)


@pytest.fixture
def two(make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun) -> Study:
    """Alpha and Beta to the same four contexts, for two raters each, ten items a batch."""
    study, contexts = make_queue(raters=2, batch=10), make_contexts(4)
    for system in ("Alpha", "Beta"):
        subjects.add_responses(study, make_run(contexts, system))
    return study


def test_no_further_worker_judges_removed_items(two: Study) -> None:
    assert removal.take_out(two, "Beta") == 4

    assert {system_at(key) for key in judge_all(begin(two))} == {"Alpha"}
    assert count_of(two, "Beta") == SystemCount("Beta", items=0, removed=4, judged=0, wanted=0)
    assert count_of(two, "Alpha") == SystemCount("Alpha", items=4, removed=0, judged=4, wanted=8)


def test_judgments_stay_and_leased_items_can_be_finished(two: Study) -> None:
    desk = begin(two)
    while not any(system_at(key) == "Beta" for key in held(desk)):
        judge(desk, held(desk)[0])
    ahead = next(key for key in held(desk) if system_at(key) == "Beta")
    before = Label.objects.count()

    removal.take_out(two, "Beta")

    assert Label.objects.count() == before
    assert ahead in held(desk)
    judge(desk, ahead)
    assert Label.objects.count() == before + 1
    assert count_of(two, "Beta").judged == Label.objects.filter(response__run__system="Beta").count()


def test_abandoned_items_of_a_removed_system_are_not_offered(two: Study) -> None:
    begin(two)  # holds three, and never comes back
    removal.take_out(two, "Alpha")
    removal.take_out(two, "Beta")
    assert counts_of([two])[two.pk] == (0, 3)

    Slot.objects.filter(leased_until__isnull=False).update(leased_until=timezone.now() - timedelta(seconds=1))

    assert counts_of([two]).get(two.pk, (0, 0)) == (0, 0)
    assert [(row.judged, row.wanted) for row in system_counts(two)] == [(0, 0), (0, 0)]
    assert judging.is_judged(two, timezone.now())
    with pytest.raises(EntryRefusedError, match="nothing left"):
        begin(two)


def test_a_restored_system_is_judged_as_before(two: Study) -> None:
    judge_all(begin(two))
    removal.take_out(two, "Beta")

    assert removal.put_back(two, "Beta") == 4

    assert count_of(two, "Beta") == SystemCount("Beta", items=4, removed=0, judged=4, wanted=8)
    assert len(judge_all(begin(two))) == 8
    with pytest.raises(EntryRefusedError):
        begin(two)


def test_the_preview_names_the_changes(two: Study) -> None:
    Study.objects.filter(pk=two.pk).update(pay_amount=3)
    two.refresh_from_db()
    desk = begin(two)
    for _ in range(5):
        judge(desk, held(desk)[0])
    judged = Label.objects.filter(response__run__system="Beta").count()

    found = removal.preview_removal(two, "Beta")

    # 4 items by 2 raters are 8 judgments of Beta, and 16 of both; 5 are given, so 11 are wanted, in 2 batches
    # of 10.
    assert (found.items, found.judged, found.unneeded) == (4, judged, 8 - judged)
    assert found.remaining == 11 - (8 - judged)
    assert (found.batches, found.saved) == (1, Decimal(3))


def test_gold_items_stay_in_the_queue(two: Study) -> None:
    known = two.items.filter(response__run__system="Beta").first()
    assert known
    gold_items.declare_gold(two, {known.key: Gold({"sensible": [True]})})

    removal.take_out(two, "Beta")

    assert gold_items.gold_items_of(two) == [known]
    out = two.items.filter(response__run__system="Beta", right_answers__isnull=True).first()
    assert out
    with pytest.raises(ValidationError, match="was taken out of the queue"):
        gold_items.declare_gold(two, {out.key: Gold({"sensible": [True]})})


def test_unknown_systems_cannot_be_removed_or_restored(two: Study) -> None:
    with pytest.raises(ValidationError, match="The queue has no items of “Gamma”"):
        removal.take_out(two, "Gamma")
    with pytest.raises(ValidationError, match="Nothing of “Alpha” was taken out"):
        removal.put_back(two, "Alpha")


def test_adding_responses_or_saving_the_plan_restores_no_removed_system(two: Study) -> None:
    removal.take_out(two, "Beta")

    subjects.add_responses(two, Response.objects.filter(run__system="Beta")[0].run)
    plan = judging.plan_of(two)
    plan.raters_per_item = 3
    subjects.save_plan(plan)

    assert count_of(two, "Beta").wanted == 0
    assert count_of(two, "Alpha").wanted == 12


def test_no_third_rater_judges_removed_items(two: Study) -> None:
    plan = judging.plan_of(two)
    plan.third_rater, plan.raters_per_item = True, 1
    subjects.save_plan(plan)
    plan.raters_per_item = 2
    subjects.save_plan(plan)
    first, second = begin(two), begin(two)
    key = held(first)[0]
    assert key in held(second)
    removal.take_out(two, system_at(key))

    judge(first, key)
    judging.judge(second, key=UUID(key), answers={"sensible": False})

    assert item_of(key).slots.count() == 2


def test_a_copy_has_only_the_items_in_the_queue(two: Study) -> None:
    removal.take_out(two, "Beta")

    copy = clone(two, owner=two.owner)

    assert [row.system for row in system_counts(copy)] == ["Alpha"]


# --- reports -------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_the_report_counts_its_judgments_and_the_bundle_gives_the_same(two: Study, tmp_path: Path) -> None:
    desk = begin(two)
    while len({system_at(str(key)) for key in Item.objects.filter(response__labels__isnull=False)
               .values_list("key", flat=True)}) < 2:  # fmt: skip
        judge(desk, held(desk)[0])
    judged = Label.objects.values("response").distinct().count()
    of_beta = Label.objects.filter(response__run__system="Beta").count()
    removal.take_out(two, "Beta")

    stored = computed(two).result
    call_command("bundle", str(two.pk), output=tmp_path / "bundle.zip")
    found = recompute(tmp_path / "bundle.zip")

    assert (found.differences, found.report) == ([], stored)
    assert stored
    assert {bot["bot"]: bot["labels"] for bot in stored["bots"]}["Beta"] == of_beta
    assert judged


# --- batteries -----------------------------------------------------------------------------------


@pytest.fixture
def with_battery(make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun) -> Study:
    """Two targets, and three fillers of two systems that have five and two."""
    study = make_queue(question_set="reply-impression", exclusion_rules="As declared.")
    Study.objects.filter(pk=study.pk).update(state=Study.State.DRAFT)
    study.refresh_from_db()
    contexts = make_contexts(3)
    for system in ("Denies", "Confirms"):
        subjects.add_responses(study, make_run(contexts, system))
    subjects.add_responses(study, make_run(make_contexts(5), "Small talk"))
    subjects.add_responses(study, make_run(make_contexts(2), "Weather"))
    subjects.save_battery(
        Battery(plan=judging.plan_of(study), targets=["Denies", "Confirms"], workers=3,
                compared_with="Confirms", fillers_of=["Small talk", "Weather"], fillers=3,
                repeats=0, reasons_at=[])
    )  # fmt: skip
    return set_state(study.pk, Study.State.OPEN)


def test_a_system_that_fills_batteries_cannot_be_removed(with_battery: Study) -> None:
    with pytest.raises(ValidationError, match="“Denies” is a target of the battery"):
        removal.take_out(with_battery, "Denies")
    with pytest.raises(ValidationError, match="needs 3 different fillers, and the queue has 2"):
        removal.take_out(with_battery, "Small talk")

    assert not Item.objects.filter(removed_at__isnull=False).exists()


def test_unstarted_batteries_are_dealt_without_the_removed_system(with_battery: Study) -> None:
    first = begin(with_battery)
    dealt = {*Slot.objects.filter(batch=first.batch_id).values_list("pk", flat=True)}

    removal.take_out(with_battery, "Weather")

    assert {*Slot.objects.filter(batch=first.batch_id).values_list("pk", flat=True)} == dealt
    later = Slot.objects.filter(study=with_battery, batch=None)
    assert later.values("deck").distinct().count() == 2
    assert not later.filter(item__response__run__system="Weather").exists()
    assert removal.preview_removal(with_battery, "Small talk").batches == 0


def test_an_abandoned_battery_is_finished_as_it_was_dealt(with_battery: Study) -> None:
    for _ in range(3):
        begin(with_battery)
    removal.take_out(with_battery, "Weather")
    Slot.objects.filter(study=with_battery).update(leased_until=timezone.now() - timedelta(seconds=1))

    assert not judging.is_judged(with_battery, timezone.now())
    for _ in range(3):
        assert Slot.objects.filter(batch=begin(with_battery).batch_id).count() == 5


# --- a pilot -------------------------------------------------------------------------------------


@pytest.fixture
def piloted(make_queue: MakeQueue, rex: User) -> Study:
    """Three items that two people of a pilot judged, whose study went on from it."""
    study = make_queue(3, raters=2, pilot_size=2, primary_analysis="without_excluded")
    for _ in range(2):
        desk = begin(study)
        judge_all(desk)
        judging.finish(desk)
    pilot.end_pilot(study.pk, by=rex)
    study.refresh_from_db()
    return study


def wanted(study: Study) -> tuple[int, int]:
    return counts_of([study]).get(study.pk, (0, 0))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("raters", [1, 2, 3, 5])
def test_a_plan_saved_after_the_pilot_asks_for_as_many_other_raters(piloted: Study, raters: int) -> None:
    assert wanted(piloted) == (0, 6)
    plan = judging.plan_of(piloted)
    plan.raters_per_item = raters

    subjects.save_plan(plan)

    assert wanted(piloted) == (0, 3 * raters)
    for _ in range(raters):
        assert len(judge_all(begin(piloted))) == 3


@pytest.mark.django_db(transaction=True)
def test_a_system_restored_after_a_pilot_is_judged_by_as_many_other_raters(piloted: Study) -> None:
    removal.take_out(piloted, "Alpha")
    assert wanted(piloted) == (0, 0)

    removal.put_back(piloted, "Alpha")

    assert wanted(piloted) == (0, 6)


@pytest.mark.django_db(transaction=True)
def test_pilot_judgments_of_a_removed_system_are_not_repeated(make_queue: MakeQueue, rex: User) -> None:
    study = make_queue(1, raters=1, pilot_size=2, primary_analysis="without_excluded")
    judge_all(begin(study))
    removal.take_out(study, "Alpha")

    pilot.end_pilot(study.pk, by=rex)

    assert Slot.objects.filter(study=study, label=None).count() == 0


# --- races ---------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_active_workers_lose_nothing_while_a_system_is_removed_and_restored(
    make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    study, contexts = make_queue(raters=3, batch=60), make_contexts(30)
    for system in ("Alpha", "Beta"):
        subjects.add_responses(study, make_run(contexts, system))
    plan = judging.plan_of(study)
    plan.third_rater = True
    subjects.save_plan(plan)
    desks = [begin(study) for _ in range(3)]
    together = threading.Barrier(len(desks) + 1)

    def work(desk: RaterSession, sensible: bool) -> int:
        try:
            together.wait(timeout=30)
            done = 0
            while keys := held(desk):
                answers = YES if sensible else {"sensible": False}
                judging.judge(desk, key=UUID(keys[0]), answers=answers)
                done += 1
            return done
        finally:
            connection.close()

    def change() -> None:
        try:
            together.wait(timeout=30)
            for _ in range(8):
                removal.take_out(study, "Beta")
                removal.put_back(study, "Beta")
            removal.take_out(study, "Beta")
        finally:
            connection.close()

    with ThreadPoolExecutor(len(desks) + 1) as people:
        changing = people.submit(change)
        working = [people.submit(work, desk, n % 2 == 0) for n, desk in enumerate(desks)]
        changing.result()
        judged = sum(each.result() for each in working)  # nobody was refused, and nobody waited for ever

    assert Label.objects.count() == judged
    assert Slot.objects.filter(label__isnull=False).count() == judged
    of_item = Counter(Label.objects.values_list("response", flat=True))
    assert max(of_item.values()) <= 4
    open_of_beta = Slot.objects.filter(item__response__run__system="Beta", label=None)
    assert not open_of_beta.exists()
    removal.put_back(study, "Beta")
    missing = sum(
        max(0, 3 - of_item[pk])
        for pk in Response.objects.filter(run__system="Beta").values_list("pk", flat=True)
    )
    assert open_of_beta.filter(number__lte=3).count() == missing


@pytest.mark.django_db(transaction=True)
def test_concurrent_removals_of_a_system_count_once(two: Study) -> None:
    together = threading.Barrier(3)

    def out() -> int:
        try:
            together.wait(timeout=30)
            return removal.take_out(two, "Beta")
        except ValidationError:
            return 0
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as people:
        assert sorted(each.result() for each in [people.submit(out) for _ in range(3)]) == [0, 0, 4]


@pytest.mark.django_db(transaction=True)
def test_an_item_leased_during_a_removal_can_be_finished(two: Study) -> None:
    """A slot that another transaction holds at that moment is left to it."""
    desk = begin(two)
    held_here = Slot.objects.filter(batch=desk.batch_id)
    others = Slot.objects.filter(study=two, batch=None, item__response__run__system="Beta")
    free = others.exclude(item__in=held_here.values("item")).first()
    assert free
    locked, done = threading.Event(), threading.Event()

    def lease() -> None:
        try:
            with transaction.atomic():
                Slot.objects.select_for_update().get(pk=free.pk)
                locked.set()
                done.wait(timeout=30)
                Slot.objects.filter(pk=free.pk).update(
                    batch=held_here[0].batch, leased_until=timezone.now() + timedelta(minutes=10)
                )
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        leasing = other.submit(lease)
        assert locked.wait(timeout=30)
        removal.take_out(two, "Beta")
        done.set()
        leasing.result()

    assert Slot.objects.filter(pk=free.pk, batch=desk.batch_id).exists()


def test_a_late_judgment_of_a_reassigned_item_is_refused(two: Study) -> None:
    desk = begin(two)
    key = held(desk)[0]
    Slot.objects.filter(batch=desk.batch_id).update(leased_until=timezone.now() - timedelta(seconds=1))
    removal.take_out(two, system_at(key))

    with pytest.raises(RefusedError, match="Your earlier answers are safe"):
        judge(desk, key)
