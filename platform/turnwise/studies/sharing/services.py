"""Changes of who sees and owns a study: shares with people and groups, and transfers to another account.

Until it is accepted, an offer can be withdrawn. Admins of the installation transfer at once. Ledger, labels
and audit log stay as they are: they name who did what at the time.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext as _

from turnwise.accounts.colleagues import UnknownPersonError, people_named
from turnwise.accounts.models import User
from turnwise.groups.models import Group
from turnwise.groups.queries import groups_of
from turnwise.studies.models import Role, Share, Study, Transfer


def share_with_person(
    study: Study, name: str, role: str, *, may_pay: bool = False, may_bundle: bool = False
) -> Share:
    """Share a study with a person, by user name, or change their role.

    Args:
        study: the study.
        name: user name of the person.
        role: a value of `Role`.
        may_pay: whether an editor also has `Permission.PAY`; ignored in other roles.
        may_bundle: whether a reviewer or reader also has `Permission.BUNDLE`; an editor has it anyway.

    Raises:
        ValidationError: nobody has this name, it is the owner's, or there is no such role.
    """
    given = _fields_of_share(role, may_pay=may_pay, may_bundle=may_bundle)
    person = person_named(name)
    if person.pk == study.owner_id:
        raise ValidationError(_("“%(name)s” is the owner of this study.") % {"name": person})
    share, _is_new = Share.objects.update_or_create(study=study, person=person, defaults=given)
    return share


def share_with_group(
    study: Study, group: Group, role: str, *, may_pay: bool = False, may_bundle: bool = False
) -> Share:
    """Share a study with all present and future members of a group, or change the group's role.

    Raises:
        ValidationError: there is no such role.
    """
    given = _fields_of_share(role, may_pay=may_pay, may_bundle=may_bundle)
    share, _is_new = Share.objects.update_or_create(study=study, group=group, defaults=given)
    return share


def change_role(share: Share, role: str, *, may_pay: bool = False, may_bundle: bool = False) -> Share:
    """Change the role of a share.

    Raises:
        ValidationError: there is no such role.
    """
    for name, value in _fields_of_share(role, may_pay=may_pay, may_bundle=may_bundle).items():
        setattr(share, name, value)
    share.save(update_fields=["role", "may_pay", "may_bundle"])
    return share


def stop_sharing(study: Study, share: int) -> None:
    """Delete a share of the study, by its key. Idempotent."""
    study.shares.filter(pk=share).delete()


def person_named(name: str) -> User:
    """Find the active account of this user name.

    Raises:
        ValidationError: there is none, or it is deactivated.
    """
    if User.objects.filter(username=name.strip(), is_active=False).exists():
        raise ValidationError(
            _("“%(name)s” is deactivated and cannot sign in. An admin can reactivate them under People.")
            % {"name": name.strip()}
        )
    try:
        found = people_named([name])
    except UnknownPersonError as error:
        raise ValidationError(str(error)) from error
    if not found:
        raise ValidationError(_("Write the name of a person who signs in here."))
    return found[0]


def group_for_sharing(user: User, key: str) -> Group:
    """Find a group, by its key, with which this person may share.

    Raises:
        ValidationError: there is none of which they are a member.
    """
    group = groups_of(user).filter(pk=int(key)).first() if key.isdecimal() and len(key) < 10 else None
    if group is None:
        raise ValidationError(_("You are not a member of such a group. Choose one of yours."))
    return group


def _fields_of_share(role: str, *, may_pay: bool, may_bundle: bool) -> Mapping[str, Any]:
    if role not in Role.values:
        known = ", ".join(Role.values)
        raise ValidationError(
            _("“%(role)s” is not a role in a study. Choose one of: %(known)s.")
            % {"role": role[:20], "known": known}
        )
    is_editor = role == Role.EDITOR
    return {"role": role, "may_pay": may_pay and is_editor, "may_bundle": may_bundle and not is_editor}


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
