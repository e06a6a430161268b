"""Redact texts: exports, bundles and reports show a mark in their place; the database keeps them."""

from collections.abc import Collection, Sequence
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from evaluation.texts.personal_data import Kind, Redactor
from turnwise.accounts.models import User
from turnwise.crowd.models import Redaction, TextReview
from turnwise.crowd.worker_task import WorkerTask
from turnwise.studies.models import Study
from turnwise.studies.services import results_changed
from turnwise.studies.tasks import task_of

MOST = 2000
LONGEST = 300


def redactor_of(studies: Collection[int]) -> Redactor:
    """Redactor with the active redactions of these studies."""
    active = Redaction.objects.filter(study__in=studies, undone_at=None).values_list("text", "kind")
    return Redactor({text: Kind[kind] for text, kind in active})


@transaction.atomic
def redact(study: Study, marked: Sequence[tuple[Kind, str]], *, by: User, now: datetime | None = None) -> int:
    """Redact these texts in everything exported from now on; the database keeps them.

    Returns:
        Number of texts that were not redacted before.

    Raises:
        ValidationError: a text is too short or too long, or there are too many.
    """
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    active = Redaction.objects.filter(study=study, undone_at=None)
    existing = {text.casefold() for text in active.values_list("text", flat=True)}
    fresh: dict[str, Redaction] = {}
    for kind, raw in marked:
        text = raw.strip()
        if len(text) < 2 or len(text) > LONGEST:
            raise ValidationError(
                _("“%(text)s” cannot be redacted: it takes 2 to %(most)s characters.")
                % {"text": text[:40], "most": LONGEST}
            )
        if text.casefold() not in existing:
            row = Redaction(study=study, text=text, kind=kind.name, at=now or timezone.now(), by=by)
            fresh.setdefault(text.casefold(), row)
    if len(existing) + len(fresh) > MOST:
        raise ValidationError(
            _("A study has room for %(most)s redacted texts; %(now)s are, and %(more)s more were chosen.")
            % {"most": MOST, "now": len(existing), "more": len(fresh)}
        )
    Redaction.objects.bulk_create(fresh.values())
    if fresh:
        results_changed(study.pk)
    return len(fresh)


@transaction.atomic
def undo(redaction_id: int, *, by: User, now: datetime | None = None) -> None:
    """Undo a redaction: the text is exported as written again. The row records both."""
    active = Redaction.objects.select_for_update().filter(pk=redaction_id, undone_at=None).first()
    if active is None:
        return
    active.undone_at, active.undone_by = now or timezone.now(), by
    active.save(update_fields=["undone_at", "undone_by"])
    results_changed(active.study_id)


def note_review(study: Study, *, by: User, now: datetime | None = None) -> None:
    """Record that all texts of the study up to now were reviewed for personal data."""
    version = Study.objects.values_list("results_version", flat=True).get(pk=study.pk)
    TextReview.objects.create(study=study, at=now or timezone.now(), by=by, results_version=version)


def last_review(study: Study) -> TextReview | None:
    return TextReview.objects.filter(study=study).select_related("by").first()


def unreviewed(study: Study) -> str:
    """State of the review for personal data: "never" reviewed, "newer" texts not reviewed, or "" if done."""
    if not isinstance(task_of(study), WorkerTask) or study.rehearsal_of_id:
        return ""
    review = last_review(study)
    if review is None:
        return "never"
    return "newer" if review.results_version < study.results_version else ""
