"""Progress of a queue: the same as counted slot by slot, and by an index that no judgment searches."""

import random
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.utils import timezone

from tests.conftest import MakeContexts, MakeQueue, MakeRun
from tests.desks import begin, held
from tests.judging.composed import battery, fill
from tests.rewriting import rewriting
from turnwise.accounts.models import User
from turnwise.crowd.models import Participation
from turnwise.crowd.places import pilot
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.judging.gold import gold_items
from turnwise.judging.gold.gold_items import Gold
from turnwise.judging.items import removal, subjects
from turnwise.judging.models import Slot
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.rater_session import RaterSession
from turnwise.live.frames import RefusedError
from turnwise.privacy.withdrawal import withdraw
from turnwise.studies.models import Study
from turnwise.studies.queries import counts_of
from turnwise.studies.services import set_state

REFUSALS = EntryRefusedError, RefusedError, ValidationError
STEPS = 40
SEEDS = (1, 2, 3)


def counted_slot_by_slot(study: Study) -> tuple[int, int]:
    """Judgments given and wanted, by the rules in words."""
    now = timezone.now()
    pilot_is_over = Study.objects.get(pk=study.pk).pilot_over_at is not None
    judged = wanted = 0
    slots = Slot.objects.select_related("item", "batch__assignment__participation")
    for slot in slots.filter(item__study=study):
        of_pilot = slot.batch is not None and slot.batch.assignment.participation.pilot
        is_held = slot.deck is not None or (slot.leased_until is not None and slot.leased_until >= now)
        is_abandoned = slot.item.removed_at is not None and slot.label_id is None and not is_held
        if slot.is_gold or (of_pilot and pilot_is_over) or is_abandoned:
            continue
        wanted += 1
        judged += slot.label_id is not None
    return judged, wanted


class Crowd:
    """Raters of a study and its researcher, who do things at random."""

    def __init__(
        self, study: Study, researcher: User, seed: int, answers: Callable[[], dict[str, object]]
    ) -> None:
        self.study, self.researcher, self.answers = study, researcher, answers
        self.random = random.Random(seed)
        self.desks: list[RaterSession] = []

    def begin(self) -> None:
        self.desks.append(begin(self.study))

    def judge(self) -> None:
        desk = self.random.choice(self.desks)
        for item in judging.state(desk)["items"][:1]:
            answers = self.answers() | ({"reason": "It says so."} if item.get("asks_reason") else {})
            judging.judge(desk, key=UUID(item["key"]), answers=answers)

    def finish(self) -> None:
        judging.finish(self.random.choice(self.desks))

    def let_leases_expire(self) -> None:
        leased = Slot.objects.filter(study=self.study, leased_until__isnull=False)
        leased.update(leased_until=timezone.now() - timedelta(seconds=1))

    def withdraw(self) -> None:
        withdraw(self.random.choice(self.desks).participation_id, by=self.researcher)

    def delete_worker(self) -> None:
        with rewriting():
            Participation.objects.get(pk=self.desks.pop().participation_id).worker.delete()

    def take_out(self) -> None:
        removal.take_out(self.study, self.random.choice(["Alpha", "Beta", "Small talk"]))

    def put_back(self) -> None:
        removal.put_back(self.study, self.random.choice(["Alpha", "Beta", "Small talk"]))

    def change_plan(self) -> None:
        plan = judging.plan_of(self.study)
        plan.raters_per_item = self.random.randint(1, 3)
        plan.third_rater = self.random.random() < 0.5
        subjects.save_plan(plan)

    def end_pilot(self) -> None:
        pilot.end_pilot(self.study.pk, by=self.researcher)

    def do_something(self) -> None:
        often = [self.judge] * 12 + [self.begin] * 3
        seldom = [
            self.finish, self.let_leases_expire, self.withdraw, self.delete_worker, self.take_out,
            self.put_back, self.change_plan, self.end_pilot,
        ]  # fmt: skip
        step = self.random.choice([*often, *seldom]) if self.desks else self.begin
        with suppress(*REFUSALS):
            step()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.django_db(transaction=True)
def test_progress_is_what_slots_say_one_by_one_whatever_happens_in_a_queue(
    make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun, rex: User, seed: int
) -> None:
    study = make_queue(raters=2, batch=4, pilot_size=2, primary_analysis="without_excluded")
    contexts = make_contexts(5)
    for system in ("Alpha", "Beta"):
        subjects.add_responses(study, make_run(contexts, system))
    gold = study.items.order_by("pk")[:2]
    gold_items.declare_gold(study, {item.key: Gold({"sensible": [True]}) for item in gold})
    gold_items.set_gold_per_worker(study, 1)
    beside = make_queue(3)  # whose slots are nobody else's
    crowd = Crowd(study, rex, seed, lambda: {"sensible": crowd.random.random() < 0.5, "specific": False})

    seen = set()
    for _ in range(STEPS):
        crowd.do_something()
        counts = counts_of([study, beside])
        assert counts[study.pk] == counted_slot_by_slot(study)
        seen.add(counts[study.pk])

    assert len(seen) > 5  # something did happen
    assert counts[beside.pk] == (0, 15)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.django_db(transaction=True)
def test_progress_is_what_slots_say_one_by_one_whatever_happens_to_batteries(
    make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun, rex: User, seed: int
) -> None:
    study = make_queue(
        question_set="reply-impression",
        protocol="r-u-a-robot-user-study",
        pilot_size=1,
        primary_analysis="without_excluded",
        exclusion_rules="As declared in the battery.",
    )
    Study.objects.filter(pk=study.pk).update(state=Study.State.DRAFT)
    study.refresh_from_db()
    fill(study, make_contexts, make_run)
    subjects.save_battery(battery(study))
    study = set_state(study.pk, Study.State.OPEN)
    impression = dict.fromkeys(("appropriate", "trustworthy", "friendly"), 4)
    crowd = Crowd(study, rex, seed, lambda: dict(impression))

    seen = set()
    for _ in range(STEPS):
        crowd.do_something()
        counts = counts_of([study])[study.pk]
        assert counts == counted_slot_by_slot(study)
        seen.add(counts)

    assert len(seen) > 5  # something did happen


def scans_of(index: str) -> int:
    """Searches of an index in this transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_get_xact_numscans(%s::regclass)", [index])
        return int(cursor.fetchone()[0])


@pytest.mark.django_db
def test_no_judgment_can_search_the_index_that_counts_judgments(make_queue: MakeQueue) -> None:
    """PostgreSQL would take it for a study without statistics, where a judgment then costs 500 times as much.

    Without the indexes that judgments search, and without sequential scans, it would have to.
    """
    study = make_queue(4, raters=2, batch=4)
    desk = begin(study)
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX slot_open, slot_held")
        cursor.execute("SET LOCAL enable_seqscan = off")

    before = scans_of("slot_judged")

    while keys := held(desk):
        judging.judge(desk, key=UUID(keys[0]), answers={"sensible": True, "specific": True})
    assert scans_of("slot_judged") == before

    assert counts_of([study])[study.pk] == (4, 8)
    assert scans_of("slot_judged") > before
