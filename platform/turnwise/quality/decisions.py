"""Decisions of the team about workers: record them, apply their effects, and undo them."""

from collections.abc import Collection, Iterable

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from turnwise.accounts.models import User
from turnwise.crowd.models import PanelAct, Participation
from turnwise.crowd.pay import panel_acts
from turnwise.crowd.places import ending
from turnwise.quality.models import Block, Decision
from turnwise.studies.models import Study
from turnwise.studies.sharing.permissions import Permission, permissions_of

Action = Decision.Action
AGAINST = frozenset({Action.EXCLUDE, Action.BLOCK, Action.REJECT})
"""Decisions that need a reason."""
_ONE_OF = (frozenset({Action.APPROVE, Action.REJECT}), frozenset({Action.KEEP, Action.EXCLUDE}))
"""Groups of exclusive decisions: the active one must be undone before another is made."""

_NEEDS = {
    Action.BLOCK: Permission.CHANGE,
    Action.APPROVE: Permission.PAY,
    Action.REJECT: Permission.PAY,
}
"""Permissions that decisions need besides `Permission.REVIEW`: blocks reach beyond the study, panels pay."""

_PANEL_ACTS = {Action.APPROVE: PanelAct.Kind.APPROVE, Action.REJECT: PanelAct.Kind.REJECT}
"""Decisions that are sent to the panel's API if the study uses it."""


@transaction.atomic
def decide(
    participation: Participation, action: str, *, reason: str, by: User, category: str = ""
) -> Decision:
    """Record a decision about a participation, and apply its effects.

    Args:
        participation: the participation.
        action: a value of `Action`.
        reason: required for decisions against the worker; a rejection is sent to the panel with it.
        by: user who decides.
        category: the panel's category of a rejection.

    Raises:
        ValidationError: the decision is unknown, lacks a reason, conflicts with an active one, or needs a
            permission that the user lacks; nothing was changed.
    """
    rows = Participation.objects.select_for_update(of=("self",))
    participation = rows.select_related("worker", "study", "entered_by").get(pk=participation.pk)
    reason = reason.replace("\x00", "").strip()[:500]
    if action not in Action.values or action == Action.UNDO:
        raise ValidationError(_("“%(action)s” is not a decision.") % {"action": action[:40]})
    _refuse_without_permission(participation.study, action, by)
    if action in AGAINST and not reason:
        raise ValidationError(_("Say why: the worker may ask, and so may readers of the report."))
    for active in active_decisions(participation):
        exclusive = any({action, active.action} <= group for group in _ONE_OF)
        if action == active.action or exclusive:
            raise ValidationError(
                _("“%(decision)s” has already been decided. Undo that first.")
                % {"decision": active.get_action_display()}
            )
    if action == Action.REJECT:
        panel_acts.refuse_short(participation, reason)
    made = _record(participation, action, reason=reason, by=by)
    _apply(participation, action, reason=reason, by=by, category=category)
    return made


def _apply(participation: Participation, action: str, *, reason: str, by: User, category: str) -> None:
    if action == Action.EXCLUDE:
        ending.exclude(participation.pk, reason=reason, by=by)
    elif action == Action.BLOCK:
        Block.objects.get_or_create(
            worker=participation.worker, owner=participation.study.owner, defaults={"reason": reason}
        )
    elif action in _PANEL_ACTS:
        panel_acts.request_act(
            participation, _PANEL_ACTS[Action(action)], by=by.get_username(), text=reason, category=category
        )


def allowed_actions(granted: Collection[Permission]) -> list[Action]:
    """Decisions that a person with these permissions on a study may make and undo."""
    made = [each for each in Action if each != Action.UNDO]
    return [each for each in made if _NEEDS.get(each, Permission.REVIEW) in granted]


def _refuse_without_permission(study: Study, action: str, by: User) -> None:
    if Action(action) not in allowed_actions(permissions_of(by, study)):
        raise ValidationError(
            _("Your role in this study does not allow “%(decision)s”. Ask its owner, %(owner)s.")
            % {"decision": Action(action).label, "owner": study.owner}
        )


@transaction.atomic
def undo(decision: Decision, *, by: User) -> Decision:
    """Undo a decision with its effects; both entries stay.

    Raises:
        ValidationError: the decision is undone already, the worker's data are deleted, or the user lacks a
            permission.
    """
    participation = (
        Participation.objects.select_for_update(of=("self",))
        .select_related("worker", "study")
        .filter(pk=decision.participation)
        .first()
    )
    if participation is None:
        raise ValidationError(_("The data of this worker are gone, so nothing is left to undo."))
    _refuse_without_permission(participation.study, decision.action, by)
    if decision.action == Action.UNDO or Decision.objects.filter(undoes=decision).exists():
        raise ValidationError(_("That has already been undone."))
    made = _record(participation, Action.UNDO, by=by, undoes=decision)
    if decision.action == Action.EXCLUDE:
        ending.exclude(participation.pk, reason="", by=by)
    elif decision.action in _PANEL_ACTS:
        panel_acts.cancel_act(participation, _PANEL_ACTS[Action(decision.action)])
    elif decision.action == Action.BLOCK and not _blocked_elsewhere(participation):
        Block.objects.filter(worker=participation.worker, owner=participation.study.owner).delete()
    return made


def _blocked_elsewhere(participation: Participation) -> bool:
    """True if another study of the same owner has an active decision to block the worker."""
    of_owner = Decision.objects.filter(study__owner=participation.study.owner, action=Action.BLOCK)
    parts = Participation.objects.filter(worker=participation.worker_id).exclude(pk=participation.pk)
    return of_owner.filter(participation__in=parts.values("pk"), undone_by=None).exists()


def _record(
    participation: Participation,
    action: str,
    *,
    by: User,
    reason: str = "",
    undoes: Decision | None = None,
) -> Decision:
    return Decision.objects.create(
        study=participation.study,
        participation=participation.pk,
        worker=participation.pseudonym,
        action=action,
        reason=reason,
        undoes=undoes,
        by=by.get_username(),
    )


def active_decisions(participation: Participation) -> list[Decision]:
    """Decisions about a participation that are not undone."""
    about = Decision.objects.filter(study=participation.study_id, participation=participation.pk)
    return list(about.exclude(action=Action.UNDO).filter(undone_by=None))


def decisions_by_participation(study: Study, participations: Iterable[int]) -> dict[int, list[Decision]]:
    """All decisions by participation, newest first."""
    decisions: dict[int, list[Decision]] = {}
    rows = Decision.objects.filter(study=study, participation__in=list(participations))
    for decision in rows.select_related("undone_by"):
        decisions.setdefault(decision.participation, []).append(decision)
    return decisions


def move_blocks(study: Study, *, old: User, new: User) -> None:
    """Move the blocks decided in a study to its new owner; call it once the study has the new owner.

    The old owner's blocks stay where another of their studies has decided them, too.
    """
    decided = Decision.objects.filter(action=Action.BLOCK, undone_by=None)
    here = Participation.objects.filter(pk__in=decided.filter(study=study).values("participation"))
    kept = Participation.objects.filter(pk__in=decided.filter(study__owner=old).values("participation"))
    of_old = Block.objects.filter(owner=old, worker__in=here.values("worker"))
    reasons = dict(of_old.values_list("worker", "reason"))
    Block.objects.bulk_create(
        [Block(worker_id=worker, owner=new, reason=reason) for worker, reason in reasons.items()],
        ignore_conflicts=True,
    )
    moved = Block.objects.filter(owner=old, worker__in=list(reasons))
    moved.exclude(worker__in=kept.values("worker")).delete()
