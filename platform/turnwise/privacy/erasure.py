"""Erase identifiers of participants: panel IDs, submissions, network addresses and names of invitations."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import DurationField, ExpressionWrapper, F, QuerySet, Value
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _

from turnwise.accounts import erasures
from turnwise.accounts.models import Erasure
from turnwise.crowd.entry.enrolment import hash_panel_id
from turnwise.crowd.models import Invitation, Participation, Worker, pseudonym
from turnwise.crowd.panels.links import Invited
from turnwise.crowd.panels.study_panels import ERASED, erase_invitation, invitation_of
from turnwise.crowd.pay import ledger
from turnwise.dialogues import pictures
from turnwise.dialogues.models import Seat
from turnwise.judging.models import Batch, Training
from turnwise.labels.models import Label
from turnwise.quality.models import Attempt
from turnwise.studies import bundles
from turnwise.studies.models import Study
from turnwise.trash import soft_delete as trash


def participations_of_person(participation: Participation) -> QuerySet[Participation]:
    """All participations of the same worker in the same study."""
    return Participation.objects.filter(worker=participation.worker_id, study=participation.study_id)


def has_unpaid_amount(participation: Participation) -> bool:
    """True if the worker is still to be paid in this study, for which the panel ID is needed."""
    only = list(participations_of_person(participation).values_list("pk", flat=True))
    return any(account.due > 0 for account in ledger.accounts(participation.study, only=only))


def anonymize(participation: Participation, *, now: datetime) -> None:
    """Erase the identifiers of a worker in one study, in the caller's transaction.

    It covers all of the worker's participations in the study; their remaining rows are anonymous. Pictures
    are erased, too, as they can show the worker and nothing redacts them; texts stay. If the
    worker takes part in other studies, the participations here move to a new worker.
    """
    known, here = (
        participation.worker,
        list(participations_of_person(participation).values_list("pk", flat=True)),
    )
    if invited := invitation_of(participation):
        erase_invitation(invited)
    anonymous = known
    if Participation.objects.filter(worker=known).exclude(pk__in=here).exists():
        anonymous = Worker.objects.create()
        _move(here, participation.study_id, known, anonymous)
    else:
        Worker.objects.filter(pk=known.pk).update(panel="", panel_id="", pseudonym=pseudonym())
    known_by = hash_panel_id(known.panel, known.panel_id, participation.study) if known.panel_id else ""
    Participation.objects.filter(pk__in=here).update(
        worker=anonymous, known_by=known_by, address="", submission="", panel_values={}, erased_at=now
    )
    pictures.erase(here)
    bundles.delete_bundles_quoting([participation.study_id], only_identifiers=True)
    trash.purge_studies([participation.study_id])


def _move(here: Collection[int], study_id: int, known: Worker, fresh: Worker) -> None:
    """Move a worker's participations in one study, with all their data, to another worker."""
    erasures.begin(Erasure.Reason.IDENTIFIERS, study_id=study_id)
    Label.objects.filter(rater=known, study=study_id).update(rater=fresh)
    Seat.objects.filter(assignment__participation__in=here).update(worker=fresh)
    Batch.objects.filter(assignment__participation__in=here).update(worker=fresh)
    Training.objects.filter(worker=known, study=study_id).update(worker=fresh)
    Attempt.objects.filter(participation__in=here).update(participation=None)


def due_for_erasure(now: datetime, study: Study | None = None) -> QuerySet[Participation]:
    """Participations whose identifiers are due for erasure: retention is over, or the worker withdrew.

    Some of the workers may still have to be paid.
    """
    every = Participation.objects.all()
    return every.filter(pk__in=_due_keys(every.filter(study=study) if study else every, now))


def _due_keys(among: QuerySet[Participation], now: datetime) -> QuerySet[Participation, Any]:
    """Keys of those of these participations whose identifiers are due for erasure."""
    erasable_at = ExpressionWrapper(
        F("study__retention_days") * Value(timedelta(days=1)), output_field=DurationField()
    )
    ended = Coalesce("assignment__ended_at", "assignment__active_at", "consented_at")
    rows = among.filter(erased_at=None)
    # No participation ends before its consent, so the indexed `consented_at` narrows the search.
    over = rows.alias(kept=erasable_at, ended=ended).filter(
        consented_at__lte=now - F("kept"), ended__lte=now - F("kept")
    )
    withdrew = rows.filter(withdrawal__isnull=False)
    return over.values("pk").union(withdrew.values("pk"))


@transaction.atomic
def erase_ids(participation_id: int, *, now: datetime | None = None) -> None:
    """Erase a worker's identifiers before the retention period is over. Idempotent.

    Raises:
        ValidationError: the worker is still to be paid, for which the ID is needed. Nothing was erased.
    """
    rows = Participation.objects.select_related("study", "worker").select_for_update(of=("self",))
    participation = rows.get(pk=participation_id)
    if participation.erased_at:
        return
    if has_unpaid_amount(participation):
        raise ValidationError(
            _(
                "%(who)s is still to be paid, and the id is needed for that. First mark them as "
                "paid under Payments."
            )
            % {"who": participation.pseudonym}
        )
    anonymize(participation, now=now or timezone.now())
    # The worker asked for it, so published rows are deleted, too, although they have no identifiers.
    bundles.delete_bundles_quoting([participation.study_id])


def _is_due_each_time(participation: Participation, now: datetime) -> bool:
    """True if all of the worker's participations in the study are due for erasure."""
    # Filter by keys, so that the database reads only these rows.
    keys = list(participations_of_person(participation).values_list("pk", flat=True))
    return len(_due_keys(Participation.objects.filter(pk__in=keys), now)) == len(keys)


def erase_due(*, now: datetime | None = None) -> int:
    """Erase all identifiers that are due, except of workers who are still to be paid; returns the number."""
    now, erased = now or timezone.now(), 0
    for key in list(due_for_erasure(now).order_by("pk").values_list("pk", flat=True)):
        with transaction.atomic():
            rows = Participation.objects.select_related("study", "worker").select_for_update(of=("self",))
            participation = rows.filter(pk=key, erased_at=None).first()
            if (
                participation
                and _is_due_each_time(participation, now)
                and not has_unpaid_amount(participation)
            ):
                anonymize(participation, now=now)
                erased += 1
    return erased + _erase_invitations_due(now)


def _erase_invitations_due(now: datetime) -> int:
    """Erase the names of adjudicators and of experts who never took part, in closed studies.

    Experts who took part are erased with their participations. Returns the number of erased names.
    """
    kept = ExpressionWrapper(
        F("study__retention_days") * Value(timedelta(days=1)), output_field=DurationField()
    )
    invited = Invitation.objects.filter(study__state=Study.State.CLOSED).exclude(digest=None)
    due = invited.exclude(name__startswith=ERASED).alias(kept=kept).filter(created_at__lte=now - F("kept"))
    erased = 0
    for each in list(due):
        is_known = Worker.objects.filter(panel=Invited.key, panel_id=each.panel_id).exists()
        if not is_known:
            erase_invitation(each)
            # The study may be opened again: a link without a name must not decide or judge in it.
            Invitation.objects.filter(pk=each.pk, revoked_at=None).update(revoked_at=now)
            erased += 1
    return erased
