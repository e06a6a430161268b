"""Reads of conversations."""

import random
from collections.abc import Sequence
from itertools import cycle
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Q, QuerySet

from accounts.access import visible_to
from accounts.models import User
from chatbots.base import Context, Speaker
from chatbots.base import Turn as ContextTurn
from dialogues.models import Dialogue, Fault, Participant, TranscriptImport, Turn
from dialogues.place import Place, SavedTurn
from dialogues.progress import Progress
from dialogues.refusals import RefusedError
from studies.models import Study

# Of turns: those that people have labelled. Simulated workers do so, too, in rehearsals of judging studies.
LABELLED = Q(labels__isnull=False, labels__slot__study__rehearsal_of=None)


def place_of(public_id: UUID, worker_id: int) -> Place:
    """The worker's place in this dialogue.

    Raises:
        RefusedError: there is no such dialogue, or it is another worker's.
    """
    dialogue = (
        Dialogue.objects.filter(public_id=public_id, assignment__isnull=False)
        .select_related("study", "assignment")
        .prefetch_related("participants")
        .first()
    )
    if dialogue is None:
        raise RefusedError("unknown_dialogue")
    people: dict[bool, Participant] = {p.worker_id is not None: p for p in dialogue.participants.all()}
    worker, bot = people[True], people[False]
    if worker.worker_id != worker_id:
        raise RefusedError("not_yours")
    assert dialogue.assignment is not None
    assert bot.bot_id is not None
    return Place(
        dialogue_id=dialogue.pk,
        public_id=dialogue.public_id,
        assignment_id=dialogue.assignment.pk,
        participation_id=dialogue.assignment.participation_id,
        study_code=dialogue.study.code,
        worker_id=worker_id,
        bot_id=bot.bot_id,
        seat=worker.seat,
        opening_turns=dialogue.opening_turns,
        min_turns=dialogue.min_turns,
        max_turns=dialogue.max_turns,
        label_each_turn=dialogue.label_each_turn,
        question_set=dialogue.question_set,
    )


def progress_of(place: Place) -> Progress:
    return progress_of_row(place, Dialogue.objects.get(pk=place.dialogue_id))


def progress_of_row(place: Place, row: Dialogue) -> Progress:
    return place.progress(
        turns=row.turns, bot_turns=row.bot_turns, unlabelled=row.unlabelled, ended=row.ended_at is not None
    )


def snapshot(place: Place) -> tuple[list[SavedTurn], Progress, int]:
    """All turns, how far the dialogue is, and how often the reply that is due has failed."""
    row = Dialogue.objects.get(pk=place.dialogue_id)
    # Turns committed after the row was read would not fit its counters.
    turns = Turn.objects.filter(dialogue_id=place.dialogue_id, position__lt=row.turns).order_by("position")
    saved = [saved_turn(place, turn) for turn in turns]
    progress = progress_of_row(place, row)
    return saved, progress, faults_at(place, progress.turns) if progress.reply_due else 0


def saved_turn(place: Place, turn: Turn) -> SavedTurn:
    return SavedTurn(
        position=turn.position,
        speaker="human" if turn.position % 2 == place.seat else "bot",
        text=turn.text,
        counted=turn.position >= place.opening_turns,
        key=str(turn.key) if turn.key else None,
        at=turn.created_at.isoformat(),
    )


def context_of(place: Place, texts: Sequence[str]) -> Context:
    """The turns so far, oldest first, as a bot gets them; each reply has a seed of its own."""
    speakers = (Speaker.HUMAN, Speaker.BOT) if place.seat == 0 else (Speaker.BOT, Speaker.HUMAN)
    turns = tuple(map(ContextTurn, cycle(speakers), texts))
    return Context(turns, seed=random.getrandbits(31), dialogue=str(place.public_id))


def faults_at(place: Place, position: int) -> int:
    return Fault.objects.filter(dialogue_id=place.dialogue_id, position=position).count()


def imports_of(user: User | AnonymousUser) -> QuerySet[TranscriptImport]:
    """The imports that this person may see."""
    return visible_to(user, TranscriptImport.objects.select_related("study", "by"), owner="study__owner")


def labelled_import(record: TranscriptImport) -> bool:
    """Whether somebody has labelled a turn that this import brought in."""
    return Turn.objects.filter(LABELLED, dialogue__imported_in=record).exists()


def relayed_of(user: User | AnonymousUser) -> QuerySet[Dialogue]:
    """The relayed conversations that this person may see."""
    relayed = Dialogue.objects.filter(origin=Dialogue.Origin.RELAYED).select_related("study")
    return visible_to(user, relayed, owner="study__owner")


def from_elsewhere(study: Study) -> list[tuple[str, str, int]]:
    """(system, where held, finished conversations) of the study's conversations that were not held here."""
    finished = (
        Dialogue.objects.filter(study=study, participants__bot__isnull=False)
        .exclude(origin=Dialogue.Origin.LIVE)
        .exclude(ending="")
    )
    counted = (
        finished.values_list("participants__bot__title", "origin")
        .annotate(n=Count("pk", distinct=True))
        .order_by("participants__bot__title", "origin")
    )
    return [(title, str(Dialogue.Origin(origin).label), n) for title, origin, n in counted]
