"""Reads of conversations."""

import random
from collections.abc import Sequence
from itertools import cycle
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from chatbots.base import Context, Setting, Speaker
from chatbots.base import Turn as ContextTurn
from turnwise.accounts.models import User
from turnwise.crowd.models import Withdrawal
from turnwise.dialogues import pictures
from turnwise.dialogues.models import Battle, Dialogue, Fault, OperatorReply, Seat, TranscriptImport, Turn
from turnwise.dialogues.progress import Progress
from turnwise.dialogues.reading_material import passages_of
from turnwise.dialogues.seat_context import SavedTurn, SeatContext, asks_of
from turnwise.live.frames import RefusedError
from turnwise.studies.asks import Party
from turnwise.studies.models import ReplyDisplay, Study
from turnwise.studies.models.choices import english_names
from turnwise.studies.queries import studies_of
from turnwise.studies.scenarios.tables import Scenario, prompt_columns

# Filter of turns that people have labelled here. Labels of rehearsals and of imported files do not count.
LABELLED = Q(
    labels__party__in=[party for party in Party if party != Party.OUTSIDE], labels__study__rehearsal_of=None
)


# Each new socket reads these fields only; a study alone has some sixty columns.
_SEAT_FIELDS = (
    "number", "worker", "asks", "assignment__participation", "bot__adapter",
    "dialogue__public_id", "dialogue__opening_turns", "dialogue__min_turns", "dialogue__max_turns",
    "dialogue__study__code", "dialogue__study__markdown", "dialogue__study__reply_display",
    "dialogue__study__reply_pace", "dialogue__study__may_stop_replies",
    "dialogue__study__max_reply_versions", "dialogue__study__max_message_chars",
    "dialogue__study__max_reply_chars", "dialogue__study__stores_reasoning",
    "dialogue__study__languages", "dialogue__study__scenario", "dialogue__study__persona",
    "dialogue__study__takes_pictures", "dialogue__scenario",
)  # fmt: skip


def with_dialogues(studies: QuerySet[Study]) -> QuerySet[Study]:
    """Studies with at least one conversation, held here or imported."""
    return studies.filter(Exists(Dialogue.objects.filter(study=OuterRef("pk"))))


def seat_of(public_id: UUID, worker_id: int) -> SeatContext:
    """Read the context of the worker's seat in this dialogue.

    Raises:
        RefusedError: there is no such dialogue, or the worker has no seat in it.
    """
    seats = list(
        Seat.objects.filter(dialogue__public_id=public_id)
        .select_related("dialogue__study", "assignment", "bot")
        .only(*_SEAT_FIELDS)
    )
    if not any(seat.assignment for seat in seats):
        raise RefusedError("unknown_dialogue")
    mine = next((seat for seat in seats if seat.assignment and seat.worker_id == worker_id), None)
    if mine is None or mine.assignment is None:
        raise RefusedError("not_yours")
    partner = next(seat for seat in seats if seat != mine)
    return _seat_context(mine, partner, mine.assignment.pk, mine.assignment.participation_id)


def seats_of_battle(battle: Battle) -> tuple[SeatContext, SeatContext]:
    """Contexts of the worker's seats in both conversations of a battle, left and right.

    Select the battle with its assignment.
    """
    sides = battle.left_id, battle.right_id
    every = (
        Seat.objects.filter(dialogue__in=sides).select_related("dialogue__study", "bot").only(*_SEAT_FIELDS)
    )
    found = {(seat.dialogue_id, seat.bot_id is None): seat for seat in every}
    left, right = (
        _seat_context(
            found[side, True], found[side, False], battle.assignment_id, battle.assignment.participation_id
        )
        for side in sides
    )
    return left, right


def _seat_context(mine: Seat, partner: Seat, assignment_id: int, participation_id: int) -> SeatContext:
    assert mine.worker_id is not None
    dialogue = mine.dialogue
    return SeatContext(
        dialogue_id=dialogue.pk,
        public_id=dialogue.public_id,
        assignment_id=assignment_id,
        participation_id=participation_id,
        study_id=dialogue.study_id,
        study_code=dialogue.study.code,
        worker_id=mine.worker_id,
        bot_id=partner.bot_id,
        number=mine.number,
        opening_turns=dialogue.opening_turns,
        min_turns=dialogue.min_turns,
        max_turns=dialogue.max_turns,
        markdown=dialogue.study.markdown,
        asks=asks_of(mine.asks),
        partner_asks=asks_of(partner.asks),
        bot_material=passages_of(partner) if partner.bot_id else (),
        material_keys=frozenset(mine.materials.values_list("key", flat=True)),
        is_operated=bool(partner.bot and partner.bot.is_operated),
        reply_display=ReplyDisplay(dialogue.study.reply_display),
        reply_pace=dialogue.study.reply_pace,
        may_stop_replies=dialogue.study.may_stop_replies,
        max_reply_versions=dialogue.study.max_reply_versions if partner.bot_id else 1,
        message_limit=dialogue.study.message_limit,
        reply_limit=dialogue.study.reply_limit,
        stores_reasoning=dialogue.study.stores_reasoning,
        setting=setting_of(dialogue.study, dialogue.scenario),
        takes_pictures=dialogue.study.takes_pictures,
    )


def setting_of(study: Study, row: Scenario | None = None) -> Setting:
    """Values of the variables of system prompts. They are fixed once the study has been opened.

    Args:
        study: study of the conversation.
        row: the conversation's row of the study's table of scenarios.
    """
    language = english_names(study.languages)
    if row is None:
        return Setting(language, study.scenario, study.persona)
    return Setting(language, row["scenario"], study.persona, prompt_columns(row))


def progress_of(seat: SeatContext) -> Progress:
    """Read the current progress of the conversation; it has ended for a participant who withdrew."""
    row = Dialogue.objects.filter(pk=seat.dialogue_id).first()
    if row is None or Withdrawal.objects.filter(participation=seat.participation_id).exists():
        return _progress_of_removed(seat)
    return progress_of_row(seat, row)


def _progress_of_removed(seat: SeatContext) -> Progress:
    """Progress of a conversation that was removed after its worker withdrew."""
    return seat.progress(turns=0, due_0=(), due_1=(), ended=True)


def progress_of_row(seat: SeatContext, row: Dialogue) -> Progress:
    return seat.progress(
        turns=row.turns,
        due_0=row.due_0,
        due_1=row.due_1,
        ended=row.ended_at is not None,
        closing=row.closing,
    )


_PROGRESS_FIELDS = "turns", "due_0", "due_1", "ended_at", "closing"
_TURN_FIELDS = "position", "text", "key"


def snapshot(seat: SeatContext) -> tuple[list[SavedTurn], Progress, int]:
    """All turns, the progress, and how often the due reply has failed."""
    row = Dialogue.objects.only(*_PROGRESS_FIELDS).filter(pk=seat.dialogue_id).first()
    if row is None:
        return [], _progress_of_removed(seat), 0
    # Leave out turns that were committed after the row was read: they would not fit its counters.
    turns = Turn.objects.filter(dialogue_id=seat.dialogue_id, position__lt=row.turns).order_by("position")
    saved = [saved_turn(seat, turn) for turn in turns.only(*_TURN_FIELDS)]
    if seat.takes_pictures:
        sent = pictures.pictures_of(seat.dialogue_id)
        saved = [turn._replace(picture=sent.get(turn.position)) for turn in saved]
    progress = progress_of_row(seat, row)
    return saved, progress, count_faults(seat, progress.turns) if progress.reply_due else 0


def saved_turn(seat: SeatContext, turn: Turn) -> SavedTurn:
    return SavedTurn(
        position=turn.position,
        speaker=speaker_of(seat, turn.position),
        text=turn.text,
        counted=turn.position >= seat.opening_turns,
        key=str(turn.key) if turn.key else None,
    )


def speaker_of(seat: SeatContext, position: int) -> str:
    """The speaker at a position as this seat's page names it: human, partner or bot."""
    if position % 2 == seat.number:
        return "human"
    return "partner" if seat.bot_id is None else "bot"


def context_of(seat: SeatContext, texts: Sequence[str]) -> Context:
    """Context for the bot from the texts so far, oldest first."""
    speakers = (Speaker.HUMAN, Speaker.BOT) if seat.number == 0 else (Speaker.BOT, Speaker.HUMAN)
    return context_with(seat, tuple(map(ContextTurn, cycle(speakers), texts)))


def context_with(seat: SeatContext, turns: tuple[ContextTurn, ...]) -> Context:
    """Context for the bot in the other seat, with a new random seed."""
    return Context(turns, random.getrandbits(31), seat.dialogue_key, seat.bot_material, setting=seat.setting)


def count_faults(seat: SeatContext, position: int) -> int:
    """Count failures of the reply at this position; 0 once an operator's reply exists."""
    if seat.is_operated and has_operators_reply(seat.dialogue_id, position):
        return 0
    return Fault.objects.filter(dialogue_id=seat.dialogue_id, position=position).count()


def has_operators_reply(dialogue_id: int, position: int) -> bool:
    return OperatorReply.objects.filter(dialogue_id=dialogue_id, position=position).exists()


def imports_of(user: User | AnonymousUser) -> QuerySet[TranscriptImport]:
    """Imports that this user may see."""
    return TranscriptImport.objects.select_related("study", "by").filter(study__in=studies_of(user))


def has_labelled_turns(record: TranscriptImport) -> bool:
    """True if a turn of this import has a label from here."""
    return Turn.objects.filter(LABELLED, dialogue__imported_in=record).exists()


def relayed_of(user: User | AnonymousUser) -> QuerySet[Dialogue]:
    """Relayed conversations that this user may see."""
    relayed = Dialogue.objects.filter(origin=Dialogue.Origin.RELAYED).select_related("study")
    return relayed.filter(study__in=studies_of(user))


def dialogues_between_people(studies: QuerySet[Study]) -> QuerySet[Dialogue]:
    """Conversations of these studies in which both seats belong to people."""
    with_bot = Seat.objects.filter(dialogue=OuterRef("pk"), worker=None)
    return Dialogue.objects.filter(~Exists(with_bot), study__in=studies)


def outside_dialogue_counts(study: Study) -> list[tuple[str, str, int]]:
    """(system, origin, finished conversations) of the study's imported and relayed conversations."""
    finished = (
        Dialogue.objects.filter(study=study, seats__bot__isnull=False)
        .exclude(origin=Dialogue.Origin.LIVE)
        .exclude(ending="")
    )
    counted = (
        finished.values_list("seats__bot__title", "origin")
        .annotate(n=Count("pk", distinct=True))
        .order_by("seats__bot__title", "origin")
    )
    return [(title, str(Dialogue.Origin(origin).label), n) for title, origin, n in counted]
