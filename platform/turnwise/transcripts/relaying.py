"""Relayed conversations, which a team member holds on another website and copies by hand.

The human speaks first and so has the even positions. Position 0 is the scripted opening. A pasted
conversation is split into turns as far as possible; the team member then corrects it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.texts.lengths import MAX_TURN_CHARS
from turnwise.accounts.models import User
from turnwise.bots.models import OUTSIDE, Bot, BotVersion
from turnwise.bots.services import outside_system, version_of
from turnwise.dialogues.models import Dialogue, Seat, Turn
from turnwise.studies import bundles
from turnwise.studies.models import Study, StudyBot
from turnwise.studies.services import results_changed
from turnwise.transcripts.importers.transcript import turn_of
from turnwise.transcripts.undoing import refuse_labelled, systems_without_dialogues
from turnwise.trash.models import Deletion
from turnwise.trash.soft_delete import SoftDeleter

_HUMAN = re.compile(r"human|user|you|me|i|guest|visitor|我|你|用户", re.IGNORECASE)

MOST_LINES = 400


def parsed(text: str) -> list[tuple[bool, str]]:
    """Pairs (is the speaker the human, text) of the turns.

    With lines such as “You: Hi!” the two names used most are the speakers, and other lines go on with the
    turn before. Without names, lines alternate, beginning with the human.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()][:MOST_LINES]
    names = _names(lines)
    if len(names) < 2:
        return [(number % 2 == 0, line) for number, line in enumerate(lines)]
    human = next((name for name in names if _HUMAN.fullmatch(name)), names[0])
    turns: list[tuple[bool, str]] = []
    for line in lines:
        spoken = turn_of(line)
        if spoken and spoken[0] in names:
            turns.append((spoken[0] == human, spoken[1]))
        elif turns:
            turns[-1] = (turns[-1][0], f"{turns[-1][1]}\n{line}")
        else:
            turns.append((True, line))
    return joined(turns)


def _names(lines: Iterable[str]) -> list[str]:
    """The two names before colons that are used most, in the order in which they appear."""
    used = Counter(spoken[0] for line in lines if (spoken := turn_of(line)))
    return sorted((name for name, _ in used.most_common(2)), key=list(used).index)


def joined(turns: Iterable[tuple[bool, str]]) -> list[tuple[bool, str]]:
    """Without empty turns, and what one speaker says in a row as one turn: they alternate."""
    result: list[tuple[bool, str]] = []
    for human, text in turns:
        text = text.strip()
        if not text:
            continue
        if result and result[-1][0] == human:
            result[-1] = (human, f"{result[-1][1]}\n{text}")
        else:
            result.append((human, text))
    return result


OPENING = "Hi!"


class RelayRefusedError(Exception):
    """The step was refused and changed nothing; the message says why and what to do."""


@transaction.atomic
def begin(study: Study, *, system: str, by: User, now: datetime | None = None) -> Dialogue:
    """Open a relayed conversation with the system outside of this title; the opening is its first turn.

    Raises:
        RelayRefusedError: the system has no name.
    """
    title = _clean(system)
    if not title or len(title) > 120:
        raise RelayRefusedError(_("Name the chatbot, in at most 120 characters."))
    now = now or timezone.now()
    bot = outside_system(title)
    StudyBot.objects.get_or_create(study=study, bot=bot, defaults={"target": 0})
    dialogue = Dialogue.objects.create(
        study=study,
        origin=Dialogue.Origin.RELAYED,
        relayed_by=by,
        started_at=now,
        language=study.only_language,
        opening_turns=1,
        turns=1,
        min_turns=study.min_turns,
        max_turns=study.max_turns,
    )
    Seat.objects.bulk_create(
        [
            Seat(dialogue=dialogue, number=0, name="Volunteer"),
            Seat(dialogue=dialogue, number=1, bot=bot),
        ]
    )
    Turn.objects.create(dialogue=dialogue, position=0, text=study.opening_text or OPENING, created_at=now)
    return dialogue


def system_of(dialogue: Dialogue) -> Bot:
    """The system that a relayed conversation is with."""
    return Bot.objects.get(seats__dialogue=dialogue)


@transaction.atomic
def add_turn(dialogue_id: int, *, position: int, text: str, now: datetime | None = None) -> None:
    """Save the next turn, whoever's it is. Safe to repeat.

    Raises:
        RelayRefusedError: it is empty or too long, there is another turn already, or no room for one.
    """
    dialogue = _locked(dialogue_id)
    text = _checked(text)
    stored = dialogue.turn_set.filter(position=position).first()
    if stored and stored.text == text:
        return
    if position != dialogue.turns:
        raise RelayRefusedError(
            _(
                "Another turn has been saved here in the meantime, perhaps in another tab. Yours "
                "was not: “%(text)s”"
            )
            % {"text": text[:200]}
        )
    _refuse_ended(dialogue)
    _refuse_too_long(dialogue, dialogue.turns + 1)
    now = now or timezone.now()
    version = None if position % 2 == 0 else _version(dialogue)
    Turn.objects.create(dialogue=dialogue, position=position, text=text, bot_version=version, created_at=now)
    _count(dialogue, dialogue.turns + 1)


@transaction.atomic
def replace_turns(
    dialogue_id: int, turns: Sequence[tuple[bool, str]], *, now: datetime | None = None
) -> None:
    """Replace all saved turns by these pairs (is the speaker the human, text).

    Raises:
        RelayRefusedError: the chatbot would speak first, or a turn or the conversation is too long.
    """
    dialogue = _locked(dialogue_id)
    _refuse_ended(dialogue)
    turns_left = joined((human, _clean(text)) for human, text in turns)
    if not turns_left or not turns_left[0][0]:
        raise RelayRefusedError(
            _("The first turn must be yours: you say the opening. Set its speaker to “You”.")
        )
    _refuse_too_long(dialogue, len(turns_left))
    texts = [_checked(text) for _, text in turns_left]
    version, now = _version(dialogue), now or timezone.now()
    dialogue.turn_set.all().delete()
    Turn.objects.bulk_create(
        Turn(
            dialogue=dialogue,
            position=position,
            text=text,
            bot_version=version if position % 2 else None,
            created_at=now,
        )
        for position, text in enumerate(texts)
    )
    _count(dialogue, len(texts))


@transaction.atomic
def finish(dialogue_id: int, *, now: datetime | None = None) -> None:
    """End the conversation; from then on others may judge it. Safe to repeat.

    Raises:
        RelayRefusedError: the chatbot has not said enough.
    """
    dialogue = _locked(dialogue_id)
    if dialogue.ended_at:
        return
    missing = replies_needed(dialogue) - dialogue.bot_turns
    if missing > 0:
        raise RelayRefusedError(
            ngettext(
                "The conversation is too short: the chatbot has to speak %(n)d more time.",
                "The conversation is too short: the chatbot has to speak %(n)d more times.",
                missing,
            )
            % {"n": missing}
        )
    dialogue.ended_at, dialogue.ending = now or timezone.now(), Dialogue.Ending.COMPLETE
    dialogue.save(update_fields=["ended_at", "ending"])
    results_changed(dialogue.study_id)


@transaction.atomic
def discard(dialogue_id: int, *, by: User) -> Deletion:
    """Delete a relayed conversation.

    Returns:
        What it takes to put it back.

    Raises:
        turnwise.transcripts.importing.ImportRefusedError: somebody has labelled one of its turns.
    """
    dialogue = _locked(dialogue_id)
    refuse_labelled([dialogue.pk])
    study, was_finished = dialogue.study, dialogue.ended_at is not None
    deleter = SoftDeleter()
    deleter.delete(Dialogue.objects.filter(pk=dialogue.pk))
    deleter.delete(systems_without_dialogues(study))
    if was_finished:
        results_changed(study.pk)
        bundles.delete_bundles_quoting([study.pk])
    return deleter.store(_("A relayed conversation"), by=by, study=study)


def replies_needed(dialogue: Dialogue) -> int:
    """The chatbot's turns that a finished conversation has at least."""
    return (dialogue.min_turns + 1) // 2


def _locked(dialogue_id: int) -> Dialogue:
    relayed = Dialogue.objects.select_for_update(of=("self",)).filter(origin=Dialogue.Origin.RELAYED)
    return relayed.select_related("study").get(pk=dialogue_id)


def _version(dialogue: Dialogue) -> BotVersion:
    # Nobody outside knows when such a chatbot changes; the day is what can be told.
    details = {"adapter": OUTSIDE, "relayed_on": dialogue.started_at.date().isoformat()}
    return version_of(system_of(dialogue), details)


def _count(dialogue: Dialogue, turns: int) -> None:
    dialogue.turns, dialogue.bot_turns = turns, turns // 2
    dialogue.save(update_fields=["turns", "bot_turns"])


def _refuse_ended(dialogue: Dialogue) -> None:
    if dialogue.ended_at:
        raise RelayRefusedError(_("This conversation is finished, so its turns are fixed."))


def _refuse_too_long(dialogue: Dialogue, turns: int) -> None:
    most = dialogue.max_turns + dialogue.opening_turns
    if turns > most:
        raise RelayRefusedError(
            _(
                "That would be %(turns)d turns; this study allows %(most)d, the opening included. Finish it "
                "first."
            )
            % {"turns": turns, "most": most}
        )


def _checked(text: str) -> str:
    text = _clean(text)
    if not text:
        raise RelayRefusedError(_("The turn is empty. Write or paste what was said."))
    if len(text) > MAX_TURN_CHARS:
        raise RelayRefusedError(
            _("A turn has %(n)d characters; %(most)d can be stored. Shorten it.")
            % {"n": len(text), "most": MAX_TURN_CHARS}
        )
    return text


def _clean(text: str) -> str:
    text = text.encode(errors="ignore").decode().replace("\x00", "")
    return text.replace("\r\n", "\n").strip()
