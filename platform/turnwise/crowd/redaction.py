"""What is not to leave the platform: texts in whose place exports, bundles and reports have a mark."""

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
    """What these studies put a mark for."""
    standing = Redaction.objects.filter(study__in=studies, undone_at=None).values_list("text", "kind")
    return Redactor({text: Kind[kind] for text, kind in standing})


@transaction.atomic
def redact(study: Study, found: Sequence[tuple[Kind, str]], *, by: User, now: datetime | None = None) -> int:
    """Put marks in place of these texts in all that leaves the platform from now on; the database keeps them.

    Returns:
        How many were not redacted before.

    Raises:
        ValidationError: one is too short or too long, or there are too many.
    """
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    standing = Redaction.objects.filter(study=study, undone_at=None)
    known = {text.casefold() for text in standing.values_list("text", flat=True)}
    fresh: dict[str, Redaction] = {}
    for kind, given in found:
        text = given.strip()
        if len(text) < 2 or len(text) > LONGEST:
            raise ValidationError(
                _("“%(text)s” cannot be redacted: it takes 2 to %(most)s characters.")
                % {"text": text[:40], "most": LONGEST}
            )
        if text.casefold() not in known:
            row = Redaction(study=study, text=text, kind=kind.name, at=now or timezone.now(), by=by)
            fresh.setdefault(text.casefold(), row)
    if len(known) + len(fresh) > MOST:
        raise ValidationError(
            _("A study has room for %(most)s redacted texts; %(now)s are, and %(more)s more were chosen.")
            % {"most": MOST, "now": len(known), "more": len(fresh)}
        )
    Redaction.objects.bulk_create(fresh.values())
    if fresh:
        results_changed(study.pk)
    return len(fresh)


@transaction.atomic
def undo(redaction_id: int, *, by: User, now: datetime | None = None) -> None:
    """Have a text leave the platform again as it was written. It stays noted that it was redacted."""
    standing = Redaction.objects.select_for_update().filter(pk=redaction_id, undone_at=None).first()
    if standing is None:
        return
    standing.undone_at, standing.undone_by = now or timezone.now(), by
    standing.save(update_fields=["undone_at", "undone_by"])
    results_changed(standing.study_id)


def note_review(study: Study, *, by: User, now: datetime | None = None) -> None:
    """Note that somebody looked through all texts that there are by now."""
    seen = Study.objects.values_list("results_version", flat=True).get(pk=study.pk)
    TextReview.objects.create(study=study, at=now or timezone.now(), by=by, results_version=seen)


def last_review(study: Study) -> TextReview | None:
    return TextReview.objects.filter(study=study).select_related("by").first()


def unreviewed(study: Study) -> str:
    """Whether texts wait to be looked through for personal data: "never" were they, "newer" do, or ""."""
    if not isinstance(task_of(study), WorkerTask) or study.rehearsal_of_id:
        return ""
    review = last_review(study)
    if review is None:
        return "never"
    return "newer" if review.results_version < study.results_version else ""
