"""Labels of outside raters: people elsewhere who judged the conversations of a file.

They come with the conversations, or later in a file that names imported conversations. The raters are
readers, or the two speakers, who judge each other and themselves.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from evaluation.questions import Answer
from turnwise.crowd.models import Worker
from turnwise.dialogues.models import Dialogue, TranscriptImport, Turn
from turnwise.labels.models import Label
from turnwise.studies.asks import Party
from turnwise.studies.models import Study
from turnwise.transcripts.importers import Checked, Problem, Rated
from turnwise.transcripts.importers.formats import Given

RATER = "rater"
"""Key of a conversation's details with the pseudonym of its outside rater."""

_PANEL = "outside"


def raters_of(study: Study, conversations: Sequence[Checked | Rated]) -> dict[str, Worker]:
    """Get or create the raters of a file, by their name in it; a name means the same worker within one study.

    Their names are stored only as a digest.
    """
    named = {each.rater for each in conversations if each.rater}
    several = [each for each in conversations if isinstance(each, Checked)]
    named |= {rater for each in several for by in (each.by_rater, *each.turns_by_rater) for rater in by}
    two = [each for each in conversations if isinstance(each, Checked) and each.is_of_raters]
    named |= {talker(each, seat) for each in two for seat in (0, 1)}
    ids = {rater: _panel_id(study, rater) for rater in named}
    Worker.objects.bulk_create(
        [Worker(panel=_PANEL, panel_id=panel_id) for panel_id in ids.values()], ignore_conflicts=True
    )
    found = {each.panel_id: each for each in Worker.objects.filter(panel=_PANEL, panel_id__in=ids.values())}
    return {rater: found[panel_id] for rater, panel_id in ids.items()}


def talker(conversation: Checked, seat: int) -> str:
    """Name of a speaker who also judges; it is only valid within this conversation."""
    return f"{conversation.speakers[seat]} in {conversation.id}"


def _panel_id(study: Study, rater: str) -> str:
    return hashlib.sha256(f"{study.code} {rater}".encode(errors="ignore")).hexdigest()


def labels_of(
    dialogue: Dialogue,
    turns: Iterable[Turn],
    conversation: Checked,
    raters: Mapping[str, Worker],
    now: datetime,
) -> Iterator[Label]:
    """The labels that a stored conversation brings along: of its judged turns, and of the whole."""
    turns = list(turns)
    by_one: list[tuple[Turn | None, Given]] = [(None, conversation.given)]
    by_one += [(turn, conversation.of_turns[turn.position]) for turn in turns if turn.bot_version_id]
    about: list[tuple[Worker, Turn | None, Given]] = []
    if any(given for _, given in by_one):
        one = rater_of(conversation, raters)
        about += [(one, turn, given) for turn, given in by_one]
    about += [(raters[name], None, given) for name, given in conversation.by_rater.items()]
    about += [
        (raters[name], turn, given)
        for turn in turns
        if turn.bot_version_id
        for name, given in conversation.turns_by_rater[turn.position].items()
    ]
    if conversation.is_of_raters:
        two = [raters[talker(conversation, seat)] for seat in (0, 1)]
        about += [(two[seat], None, given) for seat, given in enumerate(conversation.of_speakers)]
        for each in turns:
            speaker = each.position % 2
            about.append((two[speaker], each, conversation.own[each.position]))
            about.append((two[1 - speaker], each, conversation.heard[each.position]))
    for rater, turn, given in about:
        for questions, answers in given.items():
            yield label(dialogue, turn, rater, questions, answers, now)


def rater_of(found: Checked | Rated, raters: Mapping[str, Worker]) -> Worker:
    """Rater of a conversation; an unnamed one is a new worker for each conversation."""
    return raters.get(found.rater) or Worker.objects.create()


def label(
    dialogue: Dialogue,
    turn: Turn | None,
    rater: Worker,
    questions: str,
    answers: Mapping[str, Answer],
    now: datetime,
) -> Label:
    """Label of an outside rater about a turn or the whole conversation."""
    return Label(
        study=dialogue.study,
        turn=turn,
        dialogue=None if turn else dialogue,
        rater=rater,
        party=Party.OUTSIDE,
        question_set=questions,
        answers=dict(answers),
        created_at=now,
        changed_at=now,
    )


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
        """Look up dialogues by name; locked if they are about to be rated."""
        imported = study.dialogues.filter(origin=Dialogue.Origin.IMPORTED, source_id__in=list(names))
        found = imported.exclude(ended_at=None).order_by("pk")
        dialogues = {
            each.source_id: each for each in (found.select_for_update(of=("self",)) if to_rate else found)
        }
        labels = Label.objects.filter(dialogue__in=dialogues.values()).exclude(party=Party.READER)
        return cls(dialogues, frozenset(labels.values_list("dialogue_id", flat=True)))

    def wrong(self, name: str, line: int) -> Problem | None:
        """Problem if the conversation of this name cannot take ratings, else None."""
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
