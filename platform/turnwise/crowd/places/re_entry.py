"""Decide whether a worker may take part in a study again, by the study's re-entry rule."""

from collections.abc import Collection

from turnwise.crowd import refusals
from turnwise.crowd.models import PAID, Assignment, Participation
from turnwise.crowd.places.conditions import bots_in
from turnwise.studies.models import ReEntry, Study, StudyBot
from turnwise.studies.queries import active_bots_of


def newest_participation(participation: Participation) -> Participation:
    """Newest participation of the same worker in the same study."""
    every = Participation.objects.filter(worker=participation.worker_id, study=participation.study_id)
    return every.select_related("assignment", "worker", "study").order_by("number").reverse()[0]


def is_over(participation: Participation) -> bool:
    assignment: Assignment | None = getattr(participation, "assignment", None)
    return assignment is not None and assignment.outcome != ""


def refuse_re_entry(newest: Participation) -> None:
    """Refuse another participation after the worker's newest one, which has ended.

    Raises:
        EntryRefusedError: the worker may not take part again; names the reason.
    """
    study = newest.study
    if newest.erased_at or hasattr(newest, "withdrawal"):
        raise refusals.took_part_and_erased()
    if study.re_entry == ReEntry.ONCE:
        raise refusals.already_done()
    if newest.assignment.outcome not in PAID:
        raise refusals.ended()
    if newest.excluded_at or (study.re_entry == ReEntry.UP_TO and newest.number >= study.re_entry_most):
        raise refusals.took_part_often()
    if study.re_entry == ReEntry.PER_BOT:
        bots_for(newest, [each for each in active_bots_of(study) if not each.bot.is_outside])


def bots_for(participation: Participation, bots: Collection[StudyBot]) -> list[StudyBot]:
    """Bots of the worker's condition; if the rule is one conversation per bot, those not met so far.

    Raises:
        EntryRefusedError: the worker has talked with all of them.
    """
    bots = bots_in(participation, bots)
    if participation.study.re_entry != ReEntry.PER_BOT:
        return bots
    earlier = Assignment.objects.filter(
        study=participation.study_id, participation__worker=participation.worker_id
    )
    met = set(earlier.values_list("study_bot", flat=True))
    left = [each for each in bots if each.pk not in met]
    if bots and not left:
        raise refusals.talked_with_all_bots()
    return left


def can_re_enter(newest: Participation) -> bool:
    """True if the last page may offer to start again; a new paid submission must start at the panel."""
    if newest.submission or newest.study.state != Study.State.OPEN or not is_over(newest):
        return False
    try:
        refuse_re_entry(newest)
    except refusals.EntryRefusedError:
        return False
    return True
