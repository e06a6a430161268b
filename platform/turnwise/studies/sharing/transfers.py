"""Transfers of studies: the owner offers a study to another account, which accepts or declines.

Until it is accepted, an offer can be withdrawn. Admins of the installation transfer at once. Ledger, labels
and audit log stay as they are: they name who did what at the time.
"""

from datetime import datetime

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext as _

from turnwise.accounts.models import User
from turnwise.studies.models import Role, Share, Study, Transfer
from turnwise.studies.sharing.services import person_named

Outcome = Transfer.Outcome

owner_changed = Signal()
"""Sent within the transaction of a transfer, with `study`, `old` and `new`: its owners."""


class NoOfferError(Exception):
    """There is no such open offer: it was accepted, declined or withdrawn."""


def open_transfer_of(study: Study) -> Transfer | None:
    """The offer of the study that is neither accepted nor declined nor withdrawn."""
    return study.transfers.filter(ended_at=None).select_related("to", "offered_by").first()


def offers_to(user: User | AnonymousUser) -> QuerySet[Transfer]:
    """Open offers of studies to this person, the newest first."""
    return Transfer.objects.filter(to=user.pk, ended_at=None).select_related("study__owner")


@transaction.atomic
def offer(study: Study, name: str, *, keeps_editing: bool, by: User, now: datetime | None = None) -> Transfer:
    """Offer a study to another account, which becomes the owner by accepting.

    Args:
        study: the study, which is not a rehearsal.
        name: user name of the new owner.
        keeps_editing: whether the old owner becomes an editor with payments.
        by: the owner, or an admin of the installation.
        now: time of the offer.

    Raises:
        ValidationError: nobody has this name, it is the owner's, or the study is offered already.
    """
    study = Study.objects.select_for_update(of=("self",)).select_related("owner").get(pk=study.pk)
    person = _new_owner(study, name)
    pending = open_transfer_of(study)
    if pending:
        raise ValidationError(
            _("The study is already offered to %(name)s. Withdraw that offer first.")
            % {"name": pending.to_name}
        )
    return Transfer.objects.create(
        study=study,
        offered_by=by,
        from_name=study.owner.get_username(),
        to=person,
        to_name=person.get_username(),
        keeps_editing=keeps_editing,
        offered_at=now or timezone.now(),
    )


@transaction.atomic
def transfer_at_once(
    study: Study, name: str, *, keeps_editing: bool, by: User, now: datetime | None = None
) -> Transfer:
    """Transfer a study without waiting for an answer; an open offer ends as withdrawn.

    Raises:
        ValidationError: the caller is not an admin of the installation, nobody has this name, or it is the
            owner's.
    """
    if not by.is_superuser:
        raise ValidationError(_("Only admins of this installation can transfer a study at once."))
    now = now or timezone.now()
    study = Study.objects.select_for_update(of=("self",)).select_related("owner").get(pk=study.pk)
    _new_owner(study, name)
    study.transfers.filter(ended_at=None).update(ended_at=now, outcome=Outcome.WITHDRAWN)
    made = offer(study, name, keeps_editing=keeps_editing, by=by, now=now)
    return _carry_out(made, study, now)


def _new_owner(study: Study, name: str) -> User:
    person = person_named(name)
    if person.pk == study.owner_id:
        raise ValidationError(_("“%(name)s” already owns this study.") % {"name": person})
    return person


@transaction.atomic
def accept(study_id: int, *, by: User, now: datetime | None = None) -> Transfer:
    """Accept the open offer of a study: the caller becomes its owner.

    Raises:
        NoOfferError: nothing is offered to the caller.
    """
    study = Study.objects.select_for_update(of=("self",)).select_related("owner").filter(pk=study_id).first()
    pending = open_transfer_of(study) if study else None
    if study is None or pending is None or pending.to_id != by.pk:
        raise NoOfferError
    return _carry_out(pending, study, now or timezone.now())


def _carry_out(transfer: Transfer, study: Study, now: datetime) -> Transfer:
    """Change the owner of the locked study, with its rehearsal and all that hangs on the owner."""
    old, new = study.owner, transfer.to
    assert new is not None
    Study.objects.filter(pk=study.pk).update(owner=new)
    Study.objects.filter(rehearsal_of=study).update(owner=new)
    study.shares.filter(person__in=(old, new)).delete()
    if transfer.keeps_editing:
        Share.objects.create(study=study, person=old, role=Role.EDITOR, may_pay=True)
    owner_changed.send(sender=Transfer, study=study, old=old, new=new)
    return _end(transfer, Outcome.ACCEPTED, now)


@transaction.atomic
def withdraw(study: Study, *, now: datetime | None = None) -> Transfer:
    """Withdraw the open offer of a study.

    Raises:
        NoOfferError: there is none.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    pending = open_transfer_of(study)
    if pending is None:
        raise NoOfferError
    return _end(pending, Outcome.WITHDRAWN, now or timezone.now())


@transaction.atomic
def decline(study_id: int, *, by: User, now: datetime | None = None) -> Transfer:
    """Decline the open offer of a study to the caller.

    Raises:
        NoOfferError: nothing is offered to the caller.
    """
    study = Study.objects.select_for_update().filter(pk=study_id).first()
    pending = open_transfer_of(study) if study else None
    if pending is None or pending.to_id != by.pk:
        raise NoOfferError
    return _end(pending, Outcome.DECLINED, now or timezone.now())


def _end(transfer: Transfer, outcome: Outcome, now: datetime) -> Transfer:
    transfer.ended_at, transfer.outcome = now, outcome
    transfer.save(update_fields=["ended_at", "outcome"])
    return transfer


@transaction.atomic
def hand_over_all(person: User, name: str, *, keeps_editing: bool, by: User) -> int:
    """Transfer all studies of a person at once, such as before their account is deleted.

    Returns:
        How many were transferred.

    Raises:
        ValidationError: as of `transfer_at_once`; nothing was transferred.
    """
    studies = list(Study.objects.filter(owner=person, rehearsal_of=None).order_by("pk"))
    if not studies:
        raise ValidationError(_("%(name)s owns no study, so nothing was changed.") % {"name": person})
    for study in studies:
        transfer_at_once(study, name, keeps_editing=keeps_editing, by=by)
    return len(studies)
