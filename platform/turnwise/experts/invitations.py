"""Invitations of experts: personal links of which only a hash is stored, shares, and revocation."""

import secrets
from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from turnwise.crowd.models import Invitation, Outcome, Participation, Worker
from turnwise.crowd.panels.links import Invited, digest_of
from turnwise.crowd.panels.study_panels import admit_invited_people, erase_invitation
from turnwise.crowd.places import ending
from turnwise.judging.models import Batch
from turnwise.judging.queue.shares import LARGEST_SHARE
from turnwise.studies.models import Study

MOST_EXPERTS = 200


class ExpertRow(NamedTuple):
    """An invited expert with the state of their work.

    Attributes:
        invitation: the invitation.
        pseudonym: pseudonym in the study; empty until they have agreed.
        done: items judged.
        size: items of their batch; None before they begin.
        is_over: True if their work has ended.
        decided: of an adjudicator, decisions made, undone ones included.
    """

    invitation: Invitation
    pseudonym: str
    done: int
    size: int | None
    is_over: bool
    decided: int


@transaction.atomic
def invite(
    study: Study, name: str, *, email: str = "", share: int = 0, is_adjudicator: bool = False
) -> tuple[Invitation, str]:
    """Invite an expert, and return the invitation with the secret of its link.

    Args:
        study: a judging study.
        name: name in the list of experts.
        email: e-mail address, for the researcher's own letters.
        share: number of items; 0: all.
        is_adjudicator: True for an adjudicator, who judges no items.

    Raises:
        ValidationError: the name is taken or invalid, or too many experts are invited; nothing was stored.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    if study.invitations.filter(name=name).exists():
        raise ValidationError({"name": _("“%(name)s” is invited already.") % {"name": name}})
    if study.invitations.exclude(digest=None).count() >= MOST_EXPERTS:
        raise ValidationError(_("%(n)d experts are invited, the most of a study.") % {"n": MOST_EXPERTS})
    secret = secrets.token_urlsafe(24)
    invitation = Invitation(
        study=study,
        name=name,
        email=email,
        token=None,
        digest=digest_of(secret),
        share=None if is_adjudicator else min(share, LARGEST_SHARE),
        is_adjudicator=is_adjudicator,
    )
    invitation.full_clean()
    invitation.save()
    if not is_adjudicator:
        admit_invited_people(study)
    return invitation, secret


@transaction.atomic
def replace_link(invitation: Invitation) -> str:
    """Replace the link of an expert by a new one, also after a revocation; returns its secret."""
    secret = secrets.token_urlsafe(24)
    Invitation.objects.filter(pk=invitation.pk).update(digest=digest_of(secret), revoked_at=None)
    return secret


@transaction.atomic
def set_share(invitation: Invitation, share: int) -> None:
    """Set an expert's number of items; 0: all.

    Raises:
        ValidationError: the expert has begun, so the items are dealt.
    """
    if invitation.is_adjudicator:
        raise ValidationError(_("An adjudicator judges no items, and so has no share."))
    if Batch.objects.filter(study=invitation.study_id, worker__in=_workers(invitation)).exists():
        raise ValidationError(
            _("%(name)s has begun, so the share is fixed. Invite another expert for the rest.")
            % {"name": invitation.name}
        )
    Invitation.objects.filter(pk=invitation.pk).update(share=min(share, LARGEST_SHARE))


@transaction.atomic
def revoke(invitation: Invitation) -> None:
    """Make an expert's link invalid, and end their work. Judgments and decisions stay and count."""
    Invitation.objects.filter(pk=invitation.pk, revoked_at=None).update(revoked_at=timezone.now())
    # Those who have agreed and not begun have no assignment yet.
    came = Participation.objects.filter(study=invitation.study_id, worker__in=_workers(invitation))
    for participation in list(came.values_list("pk", flat=True)):
        ending.end(participation, Outcome.TIMED_OUT)


@transaction.atomic
def erase(invitation: Invitation) -> None:
    """Revoke an expert's link, and erase name and e-mail address. Judgments and decisions stay."""
    revoke(invitation)
    erase_invitation(invitation)


def _workers(invitation: Invitation) -> list[int]:
    came = Worker.objects.filter(panel=Invited.key, panel_id=invitation.panel_id)
    return list(came.values_list("pk", flat=True))


def experts_of(study: Study) -> list[ExpertRow]:
    """The experts of a study with their progress, adjudicators last."""
    invited = study.invitations.exclude(digest=None).order_by("is_adjudicator", "pk")
    rows = list(invited.prefetch_related("adjudications"))
    came = study.participations.filter(
        worker__panel=Invited.key, worker__panel_id__in=[each.panel_id for each in rows]
    )
    names = dict(came.values_list("worker__panel_id", "pseudonym"))
    batches = {
        panel_id: (done, size, bool(outcome))
        for panel_id, done, size, outcome in Batch.objects.filter(
            study=study, worker__panel=Invited.key, worker__panel_id__in=names
        ).values_list("worker__panel_id", "done", "size", "assignment__outcome")
    }
    found = []
    for each in rows:
        done, size, is_over = batches.get(each.panel_id, (0, None, False))
        decided = len(each.adjudications.all())
        found.append(ExpertRow(each, names.get(each.panel_id, ""), done, size, is_over, decided))
    return found
