"""Ratings from a file that only names its conversations: these must have come in from another file."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from turnwise.dialogues.models import Dialogue, TranscriptImport
from turnwise.labels.models import Label
from turnwise.studies.asks import Party
from turnwise.studies.models import Study
from turnwise.transcripts.importers import Problem, Rated
from turnwise.transcripts.outside import RATER, label, rater_of, raters_of


@dataclass(frozen=True, slots=True)
class Rateable:
    """The imported conversations of a study, by what their files called them.

    Attributes:
        dialogues: the newest of each name.
        judged: those that have ratings, of who talked or of somebody outside.
    """

    dialogues: Mapping[str, Dialogue]
    judged: frozenset[int]

    @classmethod
    def of(cls, study: Study, names: Iterable[str], *, to_rate: bool = False) -> "Rateable":
        """Those of some names; locked if they are about to be rated."""
        imported = study.dialogues.filter(origin=Dialogue.Origin.IMPORTED, source_id__in=list(names))
        found = imported.exclude(ended_at=None).order_by("pk")
        dialogues = {
            each.source_id: each for each in (found.select_for_update(of=("self",)) if to_rate else found)
        }
        labels = Label.objects.filter(dialogue__in=dialogues.values()).exclude(party=Party.READER)
        return cls(dialogues, frozenset(labels.values_list("dialogue_id", flat=True)))

    def wrong(self, name: str, line: int) -> Problem | None:
        """Why the conversation of this name cannot take ratings."""
        shown = name if len(name) <= 60 else f"{name[:59]}…"
        if name not in self.dialogues:
            return Problem(
                line,
                f"No conversation “{shown}” was imported into this study. First import the file that has its "
                "turns.",
            )
        if self.dialogues[name].pk in self.judged:
            return Problem(line, f"Conversation “{shown}” has ratings already. They stay as they are.")
        return None


def store(record: TranscriptImport, found: Sequence[Rated], now: datetime) -> None:
    """Store the ratings of conversations that can take them; count these, and what stays out."""
    if not found:
        return
    rateable = Rateable.of(record.study, (each.id for each in found), to_rate=True)
    fit = [each for each in found if not rateable.wrong(each.id, each.line)]
    raters = raters_of(record.study, fit)
    labels = []
    for each in fit:
        dialogue, rater = rateable.dialogues[each.id], rater_of(each, raters)
        labels += [
            label(dialogue, None, rater, questions, answers, now) for questions, answers in each.given.items()
        ]
        known = dialogue.source_details or {}
        dialogue.source_details = {RATER: rater.pseudonym} | known | dict(each.details)
    Dialogue.objects.bulk_update(
        [rateable.dialogues[each.id] for each in fit], ["source_details"], batch_size=500
    )
    record.labels += len(Label.objects.bulk_create(labels))
    record.left_out += len(found) - len(fit)


def brought(record: TranscriptImport) -> QuerySet[Label]:
    """The ratings that an import brought, also to conversations of other imports.

    All labels of an import have its very moment, and no other import of the study has it.
    """
    assert record.imported_at
    return Label.objects.filter(study=record.study, party=Party.OUTSIDE, created_at=record.imported_at)
