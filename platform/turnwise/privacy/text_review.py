"""Writes of the review of texts: redactions with what depends on them, and the record of the review."""

from collections.abc import Sequence

from django.db import transaction

from evaluation.texts.personal_data import Kind
from turnwise.accounts.models import User
from turnwise.crowd import redaction
from turnwise.crowd.models import Redaction
from turnwise.privacy.personal_data import studies_that_judge
from turnwise.studies import bundles
from turnwise.studies.models import Study
from turnwise.studies.services import results_changed
from turnwise.trash import soft_delete as trash


def redact(study: Study, marked: Sequence[tuple[Kind, str]], *, seen: int, by: User) -> int:
    """Redact these texts of a study, and record the review unless newer texts arrived meanwhile.

    Args:
        study: the study.
        marked: kind and text of each.
        seen: version of the results whose texts the person has reviewed; 0: none.
        by: the person.

    Returns:
        Number of texts that were not redacted before.

    Raises:
        ValidationError: a text is too short or too long, or there are too many; nothing was changed.
    """
    study.refresh_from_db(fields=["results_version"])
    is_newest = seen >= study.results_version
    with transaction.atomic():
        done = redaction.redact(study, marked, by=by)
        if done:
            _update_dependents(study)
    if is_newest:
        redaction.note_review(study, by=by)
    return done


@transaction.atomic
def undo(redacted: Redaction, *, by: User) -> None:
    """Undo a redaction. Idempotent."""
    redaction.undo(redacted.pk, by=by)
    _update_dependents(redacted.study)


def _update_dependents(study: Study) -> None:
    """Update the reports of studies that judge these texts, and delete outdated bundles and deletions."""
    for other in sorted(studies_that_judge([study.pk]) - {study.pk}):
        results_changed(other)
    bundles.delete_bundles_quoting([study.pk])
    trash.purge_studies([study.pk])
