"""Writes of the review of texts and pictures: redactions, removed pictures, the record of the review."""

from collections.abc import Collection, Sequence

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Exists, OuterRef, Prefetch, QuerySet
from django.utils.translation import gettext as _

from evaluation.texts.personal_data import Kind
from turnwise.accounts.models import User
from turnwise.crowd import redaction
from turnwise.crowd.models import Participation, Redaction
from turnwise.dialogues.models import MessagePicture, Picture
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


def sent_pictures(study: Study) -> QuerySet[Picture]:
    """Pictures that were sent in a study's conversations, oldest first, without their content.

    Each has its messages, since one picture can be sent several times.
    """
    messages = MessagePicture.objects.select_related("turn").order_by("turn__position")
    sent = Exists(MessagePicture.objects.filter(picture=OuterRef("pk")))
    rows = Picture.objects.filter(sent, seat__dialogue__study=study).select_related("seat__dialogue")
    return rows.defer("content").prefetch_related(Prefetch("messages", messages)).order_by("pk")


@transaction.atomic
def remove(study: Study, keys: Collection[int]) -> int:
    """Delete these pictures of a study for good, with all bundles that can contain them.

    Their messages keep their text and a mark, as after the erasure of a participant's IDs.

    Returns:
        Number of pictures removed.

    Raises:
        ValidationError: no picture is given, or one is not among the study's. Nothing was removed.
    """
    chosen = set(keys)
    if not chosen:
        raise ValidationError(_("No picture is ticked, so none was removed. Tick those to remove."))
    # First, as withdrawal and erasure lock them before pictures and bundles.
    senders = Participation.objects.filter(assignment__seat__pictures__in=chosen, study=study)
    list(senders.select_for_update(no_key=True, of=("self",)).order_by("pk").values_list("pk"))
    # A message that is being saved holds its picture.
    rows = Picture.objects.filter(pk__in=chosen, seat__dialogue__study=study)
    found = list(rows.select_for_update(of=("self",)).order_by("pk").values_list("pk", flat=True))
    if len(found) < len(chosen):
        raise ValidationError(
            _(
                "One of the pictures is not in this study or is already removed, so none was removed. Tick "
                "again on this page, which is up to date."
            )
        )
    Picture.objects.filter(pk__in=found).delete()
    bundles.delete_bundles_quoting([study.pk])
    trash.purge_studies([study.pk])
    return len(found)
