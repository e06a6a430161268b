"""Imports taken back, with what they brought; what somebody here has judged stays."""

from collections.abc import Iterable

from django.db import transaction
from django.utils.translation import gettext as _

from bots.models import OUTSIDE
from dialogues.models import Dialogue, TranscriptImport, Turn
from dialogues.queries import LABELLED
from studies import bundles
from studies.models import Study
from studies.services import results_changed
from transcripts import ratings
from transcripts.importing import ImportRefusedError


@transaction.atomic
def undo(record_id: int) -> None:
    """Delete an import with what it brought, or an upload that was not imported.

    Raises:
        ImportRefusedError: somebody here has labelled one of its turns, or it is being brought in.
    """
    record = (
        TranscriptImport.objects.select_for_update(of=("self",)).select_related("study").get(pk=record_id)
    )
    if record.is_under_way:
        raise ImportRefusedError(_("This file is being imported. Wait until that is over, then undo it."))
    refuse_labelled(Dialogue.objects.filter(imported_in=record).values_list("pk", flat=True))
    was_imported = record.imported_at is not None
    if was_imported:
        ratings.take_back(record)
    record.delete()
    if was_imported:
        forget_unheard_systems(record.study)
        results_changed(record.study_id)
        bundles.forget()  # other studies may have begun to judge what it brought


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


def forget_unheard_systems(study: Study) -> None:
    """Take systems outside off the study that have no conversation in it any more."""
    unheard = study.study_bots.filter(bot__adapter=OUTSIDE).exclude(bot__seats__dialogue__study=study)
    unheard.delete()
