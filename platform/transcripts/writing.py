"""Conversations of a file as dialogues of a study, with their seats, turns, material and labels."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property

from django.utils.translation import gettext as _

from bots.models import OUTSIDE, BotVersion
from bots.services import outside_system, version_of
from crowd.models import Worker
from dialogues.models import Dialogue, Material, Seat, TranscriptImport, Turn
from labels.models import Label
from studies.models import Study, StudyBot
from transcripts.importers import Checked
from transcripts.outside import RATER, labels_of, raters_of, talker
from transcripts.scripts import contradiction


class ImportRefusedError(Exception):
    """Nothing was changed; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is told of the conversations of a file: who is which system, how they open, their language.

    Ratings of conversations that are there already need none of it.
    """

    systems: Mapping[str, str]
    scripted_opening: bool
    language: str


def language_of(study: Study, asked: str) -> str:
    """The language that conversations come in with.

    Raises:
        ImportRefusedError: it is none of the study, or the study has several and none was named.
    """
    language = asked or study.only_language
    if language not in study.languages:
        have = ", ".join(study.languages)
        raise ImportRefusedError(
            _("Say in which language these conversations are: one of the study's, %(have)s.") % {"have": have}
            if not language
            else _(
                "“%(language)s” is no language of this study, which has %(have)s. Add it to the study, or "
                "import the conversations into another."
            )
            % {"language": language[:20], "have": have}
        )
    return language


def versions(record: TranscriptImport) -> dict[str, BotVersion]:
    """By speaker, the version of the system that they are: this very file."""
    details = {"adapter": OUTSIDE, "file": record.file_name, "sha256": record.sha256, "format": record.format}
    found = {}
    for speaker, title in record.systems.items():
        if title:
            bot = outside_system(title)
            StudyBot.objects.get_or_create(study=record.study, bot=bot, defaults={"target": 0})
            found[speaker] = version_of(bot, details)
    return found


@dataclass
class Writer:
    """Writes conversations as open dialogues with their seats and turns, some at a time."""

    record: TranscriptImport
    versions: Mapping[str, BotVersion]
    how: Entry
    now: datetime

    @property
    def opening_turns(self) -> int:
        return int(self.how.scripted_opening)

    @cached_property
    def language(self) -> str:
        return language_of(self.record.study, self.how.language)

    def write(self, conversations: list[Checked]) -> None:
        if not conversations:
            return
        self._refuse_another_language(conversations)
        raters = raters_of(self.record.study, conversations)
        dialogues = Dialogue.objects.bulk_create([self._dialogue(each, raters) for each in conversations])
        pairs = list(zip(dialogues, conversations, strict=True))
        seats = [(list(self._seats(*pair, raters)), pair[1]) for pair in pairs]
        Seat.objects.bulk_create([seat for two, _ in seats for seat in two])
        Material.objects.bulk_create([text for two, each in seats for text in _materials(two, each)])
        said = [list(self._turns(*pair)) for pair in pairs]
        Turn.objects.bulk_create([turn for turns in said for turn in turns])
        labels = (
            label
            for (dialogue, each), turns in zip(pairs, said, strict=True)
            for label in labels_of(dialogue, turns, each, raters, self.now)
        )
        self.record.labels += len(Label.objects.bulk_create(labels))
        self.record.conversations += len(conversations)
        self.record.turns += sum(len(each.texts) for each in conversations)

    def _refuse_another_language(self, conversations: list[Checked]) -> None:
        texts = (text for each in conversations for text in each.texts)
        if why := contradiction(texts, self.language):
            raise ImportRefusedError(
                _(
                    "These conversations are %(why)s, so they cannot be in the language “%(language)s”, and "
                    "workers who read that could not judge them. Choose their language, or import them into "
                    "a study that has it. Nothing was imported."
                )
                % {"why": why, "language": self.language}
            )

    def _dialogue(self, conversation: Checked, raters: Mapping[str, Worker]) -> Dialogue:
        study, rater = self.record.study, raters.get(conversation.rater)
        judged = [
            position for position in range(len(conversation.texts)) if self._version(conversation, position)
        ]
        if not judged and not conversation.is_of_raters:
            one, other = conversation.speakers
            raise ImportRefusedError(
                _(
                    "Line %(line)d: no turn of this conversation could be judged, as “%(one)s” and "
                    "“%(other)s” are people or say a scripted opening only. Name the system that one of them "
                    "is. Nothing was imported."
                )
                % {"line": conversation.line, "one": one, "other": other}
            )
        return Dialogue(
            study=study,
            origin=Dialogue.Origin.IMPORTED,
            imported_in=self.record,
            source_id=conversation.id,
            source_details=dict(conversation.details) | ({RATER: rater.pseudonym} if rater else {}) or None,
            started_at=self.now,
            language=self.language,
            opening_turns=self.opening_turns,
            min_turns=study.min_turns,
            max_turns=study.max_turns,
            turns=len(conversation.texts),
            bot_turns=len(judged),
        )

    def _version(self, conversation: Checked, position: int) -> BotVersion | None:
        """What said the turn at `position`; None for a person, and for a scripted opening."""
        if position < self.opening_turns:
            return None
        return self.versions.get(conversation.speakers[position % 2])

    def _seats(
        self, dialogue: Dialogue, conversation: Checked, raters: Mapping[str, Worker]
    ) -> Iterator[Seat]:
        for number, speaker in enumerate(conversation.speakers):
            version = self.versions.get(speaker)
            person = None if version else raters.get(talker(conversation, number))
            yield Seat(
                dialogue=dialogue,
                number=number,
                bot_id=version.bot_id if version else None,
                worker=person,
                name="" if version or person else speaker,
            )

    def _turns(self, dialogue: Dialogue, conversation: Checked) -> Iterator[Turn]:
        for position, (text, at) in enumerate(zip(conversation.texts, conversation.times, strict=True)):
            yield Turn(
                dialogue=dialogue,
                position=position,
                text=text,
                created_at=datetime.fromisoformat(at) if at else self.now,
                bot_version=self._version(conversation, position),
            )


def _materials(seats: Sequence[Seat], conversation: Checked) -> Iterator[Material]:
    for seat, texts in zip(seats, conversation.read, strict=True):
        for number, text in enumerate(texts, start=1):
            told = asdict(text) | {"points": list(text.points)}
            yield Material(seat=seat, number=number, **told)
