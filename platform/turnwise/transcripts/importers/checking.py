"""Checks of parsed conversations against what can be stored: two alternating speakers, bounded texts."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from evaluation.texts.lengths import MAX_TURN_CHARS
from turnwise.transcripts.importers import settling
from turnwise.transcripts.importers.formats import (
    FORMATS,
    ByRater,
    Conversation,
    Given,
    Problem,
    Rated,
    Read,
    Source,
    UnreadableError,
    Utterance,
)

if TYPE_CHECKING:
    from evaluation.questions import Answer

MOST_TURNS = 2000  # of one conversation
MOST_SPEAKERS = 100  # of one file
LONGEST_NAME = 120


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one import."""

    conversations: int
    turns: int


@dataclass(frozen=True, slots=True)
class Checked:
    """A conversation that can be stored.

    Attributes:
        id: what the file calls it.
        line: where it begins in the file.
        speakers: of the even positions, of the odd ones.
        texts: by position.
        joined: turns that were joined to the one before, because the same speaker went on.
        empty: turns without text that were left out.
        details: what else the file says about it.
        times: by position, when it was said, as ISO 8601; empty if the file does not say.
        rater: what the file calls the one who judged it; empty if it names nobody.
        given: the rater's answers about the whole conversation.
        of_turns: the rater's answers about each turn, by position.
        own: each speaker's answers about their own turn, by position.
        heard: the partner's answers about each turn, by position.
        of_speakers: each speaker's answers about the whole conversation.
        read: what each of the two had to read.
        generations: by position, how the reply came about (bots/generation.py); {} if unknown.
        by_rater: answers of several raters about the whole conversation.
        turns_by_rater: answers of several raters about each turn, by position.
    """

    id: str
    line: int
    speakers: tuple[str, str]
    texts: tuple[str, ...]
    joined: int = 0
    empty: int = 0
    details: Mapping[str, str] = field(default_factory=dict)
    times: tuple[str, ...] = ()
    rater: str = ""
    given: Given = field(default_factory=dict)
    of_turns: tuple[Given, ...] = ()
    own: tuple[Given, ...] = ()
    heard: tuple[Given, ...] = ()
    of_speakers: tuple[Given, ...] = ()
    read: tuple[Sequence[Read], ...] = ()
    generations: tuple[Mapping[str, Any], ...] = ()
    by_rater: ByRater = field(default_factory=dict)
    turns_by_rater: tuple[ByRater, ...] = ()

    @property
    def is_of_raters(self) -> bool:
        """True if the two speakers judge each other or themselves."""
        return any((*self.own, *self.heard, *self.of_speakers))

    @property
    def labels(self) -> int:
        """Number of labels that come with the conversation, of all its turns."""
        given = (self.given, *self.own, *self.heard, *self.of_speakers, *self.by_rater.values())
        return sum(map(len, given)) + sum(self.turn_labels)

    @property
    def turn_labels(self) -> tuple[int, ...]:
        """By position, number of outside raters' labels of a turn; stored only if a system says the turn."""
        one = self.of_turns or ({},) * len(self.texts)
        several = self.turns_by_rater or ({},) * len(self.texts)
        return tuple(
            len(given) + sum(map(len, by_rater.values()))
            for given, by_rater in zip(one, several, strict=True)
        )


def checked(source: Source, format_key: str, limits: Limits) -> Iterator[Checked | Rated | Problem]:
    """Yield the storable conversations or ratings of a file, and a problem for each of the others.

    An unreadable line, or a limit that is exceeded, ends the file with a problem.
    """
    ids: dict[str, int] = {}
    conversations = turns = 0
    speakers: set[str] = set()
    found = FORMATS[format_key].read(source)
    try:
        for each in found:
            result = _printable(each) if isinstance(each, Problem) else _once(each, ids)
            if isinstance(result, Checked | Rated):
                texts = result.texts if isinstance(result, Checked) else ()
                conversations, turns = conversations + 1, turns + len(texts)
                _stay_within(limits, conversations, turns, result.line)
            if isinstance(result, Checked):
                speakers.update(result.speakers)
                if len(speakers) > MOST_SPEAKERS:
                    raise UnreadableError(
                        result.line,
                        f"Here the file passes {MOST_SPEAKERS} different speakers. Name them by role.",
                    )
            yield result
    except UnreadableError as error:
        yield _printable(Problem(error.line, f"{error.what} The rest of the file was not read."))


def _printable(problem: Problem) -> Problem:
    """Remove unprintable characters from a problem."""
    return replace(problem, what=_storable(problem.what))


def _stay_within(limits: Limits, conversations: int, turns: int, line: int) -> None:
    for number, most, what in (
        (conversations, limits.conversations, "conversations"),
        (turns, limits.turns, "turns"),
    ):
        if number > most:
            raise UnreadableError(
                line, f"Here the file passes {most} {what}, the limit for one import. Split it."
            )


def _once(found: Conversation | Rated, ids: dict[str, int]) -> Checked | Rated | Problem:
    first = ids.setdefault(found.id, found.line)
    if first != found.line:
        return Problem(found.line, f"Conversation “{_short(found.id)}” is there already, from line {first}.")
    if isinstance(found, Conversation):
        return _checked(found)
    details = {key: _storable(value) for key, value in found.details.items()}
    return Rated(_storable(found.id), found.line, found.rater, found.given, details)


def _checked(given: Conversation) -> Checked | Problem:
    conversation, empty = settling.settled(given)
    line = conversation.line
    wrong = next(filter(None, map(_wrong_turn, conversation.turns)), None)
    if wrong:
        return wrong
    turns = [_joined(list(group)) for _, group in groupby(conversation.turns, key=lambda turn: turn.speaker)]
    return _wrong_whole(given, conversation, turns) or Checked(
        _storable(conversation.id),
        line,
        (turns[0].speaker, turns[1].speaker),
        tuple(turn.text for turn in turns),
        len(conversation.turns) - len(turns),
        empty,
        {_storable(key): _storable(value) for key, value in conversation.details.items()},
        tuple(turn.at for turn in turns),
        conversation.rater,
        conversation.given,
        tuple(turn.given for turn in turns),
        tuple(turn.own for turn in turns),
        tuple(turn.heard for turn in turns),
        tuple(conversation.by_speaker.get(turn.speaker, {}) for turn in turns[:2]),
        tuple(tuple(conversation.read.get(turn.speaker, ())) for turn in turns[:2]),
        tuple(turn.generation for turn in turns),
        conversation.by_rater,
        tuple(turn.by_rater for turn in turns),
    )


def _wrong_turn(turn: Utterance) -> Problem | None:
    if settling.says_nothing(turn):  # and was judged; others are left out
        return Problem(
            turn.line, f"{_short(turn.speaker) or 'Somebody'} says nothing in a turn that was judged."
        )
    if not turn.speaker.strip():
        return Problem(turn.line, "A turn has no speaker.")
    if len(turn.speaker) > LONGEST_NAME:
        return Problem(turn.line, f"“{_short(turn.speaker)}” is too long for the name of a speaker.")
    values = json.dumps(turn.generation, ensure_ascii=False) if turn.generation else ""
    if any(text != _storable(text) for text in (turn.text, turn.speaker, values)) or "\\u0000" in values:
        return Problem(turn.line, "A turn has characters that no text can have (null, or half a character).")
    return None


def _wrong_whole(given: Conversation, conversation: Conversation, turns: list[Utterance]) -> Problem | None:
    line = conversation.line
    if len({turn.speaker for turn in turns}) != 2:
        return Problem(line, settling.why_not_two(given, conversation))
    if len(turns) > MOST_TURNS:
        return Problem(line, f"The conversation has {len(turns)} turns; {MOST_TURNS} can be stored.")
    texts = [(turn.line, "A turn", turn.text) for turn in turns]
    texts += [(line, each.title, each.text) for material in conversation.read.values() for each in material]
    long = next((each for each in texts if len(each[2]) > MAX_TURN_CHARS), None)
    if long:
        return Problem(
            long[0], f"{long[1]} has {len(long[2]):,} characters; {MAX_TURN_CHARS:,} can be stored."
        )
    return None


def _joined(turns: list[Utterance]) -> Utterance:
    """Join consecutive utterances of a speaker into one turn."""
    if len(turns) == 1 and not turns[0].generation:
        return turns[0]
    first, given = turns[0], {key: answers for turn in turns for key, answers in turn.given.items()}
    text = first.text if len(turns) == 1 else "\n".join(filter(None, (turn.text.strip() for turn in turns)))
    generation = settling.joined_generation([turn.generation for turn in turns], has_text=bool(text.strip()))
    own_material, heard = _united([turn.own for turn in turns]), _united([turn.heard for turn in turns])
    raters = dict.fromkeys(rater for turn in turns for rater in turn.by_rater)
    by_rater = {rater: _united([turn.by_rater.get(rater, {}) for turn in turns]) for rater in raters}
    return Utterance(
        first.speaker, text, first.line, first.at, given, own_material, heard, by_rater, generation=generation
    )


def _united(parts: Sequence[Given]) -> Given:
    """Merge the answers about parts of a turn: the union of multiple choices, else the first answer."""
    united: dict[str, dict[str, Answer]] = {}
    for key, question, answer in (
        (key, question, answer)
        for each in parts
        for key, answers in each.items()
        for question, answer in answers.items()
    ):
        before = united.setdefault(key, {}).setdefault(question, answer)
        if isinstance(before, list) and isinstance(answer, list):
            united[key][question] = [*before, *(each for each in answer if each not in before)]
    return united


def _storable(text: str) -> str:
    return text.encode(errors="ignore").decode().replace("\x00", "")


def _short(text: str) -> str:
    text = _storable(text)
    return text if len(text) <= 60 else text[:59] + "…"
