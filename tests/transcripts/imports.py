"""Uploads brought in as their page has it done."""

from collections.abc import Mapping

from turnwise.dialogues.models import TranscriptImport
from turnwise.transcripts import importing, storing
from turnwise.transcripts.importing import ImportRefusedError


def import_draft(
    draft_id: int, *, systems: Mapping[str, str], scripted_opening: bool, language: str = ""
) -> TranscriptImport:
    """The import as it is once it was asked for and the process for it has ended.

    Raises:
        ImportRefusedError: it was refused, at once or by the process.
    """
    importing.ask_for(draft_id, systems=systems, scripted_opening=scripted_opening, language=language)
    storing.import_requested(draft_id)
    record = TranscriptImport.objects.select_related("study").get(pk=draft_id)
    if record.refusal:
        raise ImportRefusedError(record.refusal)
    return record
