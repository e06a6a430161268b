"""How often a person may take part in a study, where its rule lets them do so again."""

from collections.abc import Collection

from turnwise.crowd import refusals
from turnwise.crowd.models import PAID, Assignment, Participation
from turnwise.studies.models import ReEntry, Study, StudyBot


def newest_of(own: Participation) -> Participation:
    """What the person of a participation began last in its study."""
    every = Participation.objects.filter(worker=own.worker_id, study=own.study_id)
    return every.select_related("assignment", "worker", "study").order_by("number").reverse()[0]


def is_over(own: Participation) -> bool:
    assignment: Assignment | None = getattr(own, "assignment", None)
    return assignment is not None and assignment.outcome != ""


def refuse(own: Participation) -> None:
    """Refuse who cannot take part once more after this participation, which is over and their newest.

    Raises:
        EntryRefusedError: why.
    """
    study = own.study
    if own.erased_at or hasattr(own, "withdrawal"):
        raise refusals.took_part_and_erased()
    if study.re_entry == ReEntry.ONCE:
        raise refusals.already_done()
    if own.assignment.outcome not in PAID:
        raise refusals.ended()
    if own.excluded_at or (study.re_entry == ReEntry.UP_TO and own.number >= study.re_entry_most):
        raise refusals.took_part_often()
    if study.re_entry == ReEntry.PER_BOT:
        bots = study.study_bots.select_related("bot").filter(bot__active=True, target__gt=0)
        not_met(own, [each for each in bots if not each.bot.is_outside])


def not_met(own: Participation, bots: Collection[StudyBot]) -> list[StudyBot]:
    """Those of the study's bots with which the person may talk, by its rule.

    Raises:
        EntryRefusedError: they have talked with every one of them.
    """
    if own.study.re_entry != ReEntry.PER_BOT:
        return list(bots)
    earlier = Assignment.objects.filter(study=own.study_id, participation__worker=own.worker_id)
    met = set(earlier.values_list("study_bot", flat=True))
    left = [each for each in bots if each.pk not in met]
    if bots and not left:
        raise refusals.met_all()
    return left


def may_follow(own: Participation) -> bool:
    """Whether they may begin once more from their last page; by what a panel pays they come from there."""
    if own.submission or own.study.state != Study.State.OPEN or not is_over(own):
        return False
    try:
        refuse(own)
    except refusals.EntryRefusedError:
        return False
    return True
