"""Undoing imports with their conversations; those that were judged here stay."""

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from turnwise.accounts.models import User
from turnwise.bots.models import OUTSIDE
from turnwise.dialogues.models import Dialogue, TranscriptImport, Turn
from turnwise.dialogues.queries import LABELLED
from turnwise.studies import bundles
from turnwise.studies.models import Study, StudyBot
from turnwise.studies.services import results_changed
from turnwise.transcripts import outside_ratings
from turnwise.transcripts.importing import ImportRefusedError
from turnwise.trash.models import Deletion
from turnwise.trash.soft_delete import SoftDeleter


@transaction.atomic
def undo(record_id: int, *, by: User) -> Deletion:
    """Delete an import with what it brought, or an upload that was not imported.

    Returns:
        The deletion, which can be undone for a day.

    Raises:
        ImportRefusedError: somebody here has labelled one of its turns, or it is being brought in.
    """
    record = (
        TranscriptImport.objects.select_for_update(of=("self",)).select_related("study").get(pk=record_id)
    )
    if record.is_in_progress:
        raise ImportRefusedError(_("This file is being imported. Wait until that is over, then undo it."))
    refuse_labelled(Dialogue.objects.filter(imported_in=record).values_list("pk", flat=True))
    deleter, was_imported = SoftDeleter(), record.imported_at is not None
    if was_imported:
        deleter.delete(outside_ratings.brought(record))
    deleter.delete(TranscriptImport.objects.filter(pk=record.pk))
    if was_imported:
        deleter.delete(systems_without_dialogues(record.study))
        results_changed(record.study_id)
        bundles.delete_bundles_quoting([record.study_id])
    return deleter.store(record.file_name, by=by, study=record.study)


def refuse_labelled(dialogues: Iterable[int]) -> None:
    """Lock the turns of these dialogues, so that nobody labels them any more, and see that nobody has.

    Raises:
        ImportRefusedError: somebody has.
    """
    turns = Turn.objects.filter(dialogue__in=dialogues)
    list(turns.select_for_update(of=("self",)).values_list("pk", flat=True))
    if turns.filter(LABELLED).exists():
        raise ImportRefusedError(
            _("Some of these turns have labels, and labels are never discarded. The conversations stay.")
        )
    anchored = Dialogue.objects.filter(pk__in=dialogues).filter(
        Q(anchors__isnull=False) | Q(turn_set__anchors__isnull=False)
    )
    if anchored.exists():
        raise ImportRefusedError(
            _("Some of these conversations are in an anchor pack. Delete the pack first; then they can go.")
        )


def systems_without_dialogues(study: Study) -> QuerySet[StudyBot]:
    """Outside systems without a conversation in the study."""
    return study.study_bots.filter(bot__adapter=OUTSIDE).exclude(bot__seats__dialogue__study=study)
