"""Removing a system from a queue, and putting it back. Existing judgments stay and count."""

from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from math import ceil
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from turnwise.judging.batteries.batch_allocation import execute, fill_slots
from turnwise.judging.batteries.battery_rules import battery_of, why_unfit
from turnwise.judging.items.subjects import lock_plan
from turnwise.judging.models import Battery
from turnwise.judging.queries import EVERY_ITEM, SystemCount, system_counts
from turnwise.judging.queue.services import plan_of
from turnwise.studies.models import Study
from turnwise.studies.services import results_changed

_MARK_REMOVED = f"""
UPDATE judging_item SET removed_at = {{removed_at}}
 WHERE right_answers IS NULL AND anchor_id IS NULL AND removed_at IS {{unless}}
   AND id IN (SELECT i.id FROM ({EVERY_ITEM.replace("%s", "%(study)s")}) AS i WHERE i.system = %(system)s)
"""
_TAKE_OUT = _MARK_REMOVED.format(removed_at="clock_timestamp()", unless="NULL")
_PUT_BACK = _MARK_REMOVED.format(removed_at="NULL", unless="NOT NULL")
# Slots that are being leased at this moment are skipped like leased ones. Waiting for them could deadlock:
# their transaction may wait for a slot that is deleted here.
_FREE = """
DELETE FROM judging_slot
 WHERE id IN (SELECT s.id FROM judging_slot AS s JOIN judging_item AS i ON i.id = s.item_id
               WHERE s.study_id = %(study)s AND s.label_id IS NULL AND s.deck IS NULL AND NOT s.is_gold
                 AND i.removed_at IS NOT NULL
                 AND (s.leased_until IS NULL OR s.leased_until < clock_timestamp())
                 FOR UPDATE OF s SKIP LOCKED)
"""


_MARK_CHOSEN = """
UPDATE judging_item SET removed_at = {removed_at}
 WHERE study_id = %(study)s AND key = ANY (%(keys)s) AND right_answers IS NULL AND anchor_id IS NULL
   AND removed_at IS {unless}
"""


@dataclass(frozen=True, slots=True)
class Removal:
    """The effect of taking a system out of the queue.

    Attributes:
        system: name in reports.
        items: items of it in the queue.
        judged: judgments of it, which stay.
        unneeded: judgments of it that are no longer wanted, including leased ones.
        remaining: judgments that the queue still wants without it.
        batches: reduction of the minimal number of batches; 0 with a battery.
        pay: pay of one batch.
        has_battery: True if workers get batteries.
    """

    system: str
    items: int
    judged: int
    unneeded: int
    remaining: int
    batches: int
    pay: Decimal
    has_battery: bool

    @property
    def saved(self) -> Decimal:
        return self.batches * self.pay


def preview_removal(study: Study, system: str) -> Removal:
    """Compute what `take_out` would change.

    Raises:
        ValidationError: the queue has nothing of this system.
    """
    counts = {row.system: row for row in system_counts(study)}
    count = _known(counts.get(system), system)
    size, battery = plan_of(study).batch_size, battery_of(study)
    wanted = sum(row.wanted - row.judged for row in counts.values())
    unneeded = count.wanted - count.judged
    return Removal(
        system=system,
        items=count.items,
        judged=count.judged,
        unneeded=unneeded,
        remaining=wanted - unneeded,
        batches=0 if battery else ceil(wanted / size) - ceil((wanted - unneeded) / size),
        pay=study.pay_amount,
        has_battery=battery is not None,
    )


def _known(row: SystemCount | None, system: str) -> SystemCount:
    if row is None or not row.items:
        raise ValidationError(
            _("The queue has no items of “%(system)s”. The page of the queue lists its systems.")
            % {"system": system[:200]}
        )
    return row


@transaction.atomic
def take_out(study: Study, system: str) -> int:
    """Take a system's items out of the queue, gold excepted, and return their number.

    Judgments stay and count. Workers may finish leased items, and batteries in progress stay as they were
    dealt.

    Raises:
        ValidationError: the queue has nothing of it, or the battery cannot be filled without it; nothing was
            changed.
    """
    plan = lock_plan(study)
    results_changed(study.pk)  # locks the study before its items, in the order of judging_save
    items = execute(_TAKE_OUT, study=study.pk, system=system)
    if not items:
        _known(None, system)
    battery = battery_of(study)
    if battery:
        _check_battery_without(battery, system)
        fill_slots(plan)
    else:
        execute(_FREE, study=study.pk)
    return items


def _check_battery_without(battery: Battery, system: str) -> None:
    if system in battery.targets:
        raise ValidationError(
            _(
                "“%(system)s” is a target of the battery, so every worker judges one of its items, and it "
                "cannot be taken out of the queue. Take it out of the battery first, which is possible until "
                "the study is opened."
            )
            % {"system": system}
        )
    if problem := why_unfit(battery):
        raise ValidationError(
            _("“%(system)s” cannot be taken out of the queue. %(problem)s")
            % {"system": system, "problem": problem}
        )


@transaction.atomic
def put_back(study: Study, system: str) -> int:
    """Put a removed system's items back into the queue, and return their number.

    Raises:
        ValidationError: the system was not taken out.
    """
    plan = lock_plan(study)
    results_changed(study.pk)
    items = execute(_PUT_BACK, study=study.pk, system=system)
    if not items:
        raise ValidationError(
            _("Nothing of “%(system)s” was taken out of the queue.") % {"system": system[:200]}
        )
    fill_slots(plan)
    return items


@transaction.atomic
def set_removed_systems(study: Study, systems: Collection[str]) -> None:
    """Take exactly these systems out of the queue, and put all others back. Safe to repeat.

    Raises:
        ValidationError: as `take_out`; nothing was changed.
    """
    lock_plan(study)
    counts = {row.system: row for row in system_counts(study)}
    for system in sorted({*systems}):
        if system not in counts:
            _known(None, system)
    for system, row in counts.items():
        if system in systems and row.items:
            take_out(study, system)
        elif system not in systems and row.removed:
            put_back(study, system)


@transaction.atomic
def take_out_items(study: Study, keys: Collection[UUID]) -> int:
    """Take chosen items out of the queue, gold excepted, and return their number; see `take_out`.

    Raises:
        ValidationError: the battery cannot be filled without them; nothing was changed.
    """
    plan = lock_plan(study)
    results_changed(study.pk)
    statement = _MARK_CHOSEN.format(removed_at="clock_timestamp()", unless="NULL")
    items = execute(statement, study=study.pk, keys=list(keys))
    if battery := battery_of(study):
        if problem := why_unfit(battery):
            raise ValidationError(
                _("The items cannot be taken out of the queue. %(problem)s") % {"problem": problem}
            )
        fill_slots(plan)
    else:
        execute(_FREE, study=study.pk)
    return items


@transaction.atomic
def put_back_items(study: Study, keys: Collection[UUID]) -> int:
    """Put chosen items that were taken out back into the queue, and return their number."""
    plan = lock_plan(study)
    results_changed(study.pk)
    statement = _MARK_CHOSEN.format(removed_at="NULL", unless="NOT NULL")
    items = execute(statement, study=study.pk, keys=list(keys))
    fill_slots(plan)
    return items
