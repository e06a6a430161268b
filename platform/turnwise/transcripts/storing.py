"""Storing imported files: conversations with seats, turns, materials and labels, one transaction per file.

A subprocess (`manage.py import_upload`) stores an upload: large ones take minutes, which would block pages,
workers or jobs.
"""

import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property
from io import BytesIO
from itertools import islice
from typing import BinaryIO

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from evaluation.texts.cleaning import contradiction
from turnwise.bots.models import OUTSIDE, BotVersion
from turnwise.bots.services import outside_system, version_of
from turnwise.crowd.models import Worker
from turnwise.dialogues.models import Dialogue, Material, Seat, TranscriptImport, Turn
from turnwise.labels.models import Label
from turnwise.live.jobs import IMPORTS, exclusive_lock
from turnwise.studies.models import Study, StudyBot
from turnwise.studies.services import results_changed
from turnwise.transcripts import import_progress, outside_ratings
from turnwise.transcripts.importers import Checked, Limits, Problem, Rated, Source, checked
from turnwise.transcripts.importing import (
    ON_PAGE,
    ImportRefusedError,
    every_set,
    language_of,
    refuse_unknown_format,
    researcher_sets,
    titles_of,
)
from turnwise.transcripts.outside_ratings import RATER, labels_of, raters_of, talker

log = logging.getLogger(__name__)

BY_COMMAND = Limits(conversations=500_000, turns=10_000_000)

_BATCH = 500


def import_requested(record_id: int) -> None:
    """Import a requested upload, unless it is being imported or was.

    Its page shows the progress, or why the import failed; then nothing was stored.
    """
    with exclusive_lock(IMPORTS, record_id) as is_ours:
        record = TranscriptImport.objects.select_related("study", "by").filter(pk=record_id).first()
        if not is_ours or record is None or not record.is_in_progress:
            return
        content = record.file
        source = Source(BytesIO(content), record.columns, researcher_sets(record.by, content))
        try:
            with transaction.atomic():
                _store(record, checked(source, record.format, ON_PAGE), timezone.now())
        except ImportRefusedError as error:
            import_progress.record_refusal(record_id, str(error))
        except Exception:
            log.exception("The import %s broke off.", record_id)
            import_progress.record_refusal(
                record_id, _("The import stopped early; the log says why. Nothing was imported.")
            )


@transaction.atomic
def import_file(
    study: Study,
    file: BinaryIO,
    *,
    name: str,
    format_key: str,
    systems: Mapping[str, str],
    scripted_opening: bool,
    language: str = "",
    columns: Mapping[str, str] | None = None,
) -> TranscriptImport:
    """Import a file at once; it may be larger than an upload.

    Args:
        study: that it is for.
        file: the conversations.
        name: name of the file.
        format_key: in which it is.
        systems: by speaker, the title of the system that they are; empty for a person.
        scripted_opening: whether first turns are scripted, so that nobody judges them.
        language: language of the conversations, one of the study; may be left out where that has one only.
        columns: of a table, by part of a turn; guessed if not given.

    Raises:
        ImportRefusedError: nothing can come in, or a conversation would have nothing to judge.
    """
    now = timezone.now()
    digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # any binary file will do
    file.seek(0)
    refuse_unknown_format(format_key)
    record = TranscriptImport.objects.create(
        study=study,
        file_name=name[:200],
        sha256=digest,
        format=format_key,
        uploaded_at=now,
        content=b"",
        systems=titles_of(systems),
        scripted_opening=scripted_opening,
        language=language,
        columns=dict(columns or {}),
    )
    _store(record, checked(Source(file, record.columns, every_set()), format_key, BY_COMMAND), now)
    return record


def _store(record: TranscriptImport, found: Iterator[Checked | Rated | Problem], now: datetime) -> None:
    writer = _Writer(record, _versions(record), now)
    for batch in _batches(found):
        writer.write([each for each in batch if isinstance(each, Checked)])
        outside_ratings.store(record, [each for each in batch if isinstance(each, Rated)], now)
        record.left_out += sum(isinstance(each, Problem) for each in batch)
        import_progress.add_parts(record.pk, len(batch))
    record.left_out += writer.in_others
    if not record.conversations and writer.in_others:
        writer.refuse()
    if not record.conversations and not record.labels:
        raise ImportRefusedError(
            _("There is no conversation and no rating in the file that can be imported.")
        )
    # The database refuses turns in a finished dialogue, so they are finished last.
    record.dialogues.update(ending=Dialogue.Ending.COMPLETE, ended_at=now)
    record.imported_at, record.content = now, None
    record.save()
    results_changed(record.study_id)


def _versions(record: TranscriptImport) -> dict[str, BotVersion]:
    """Bot version of each speaker that is a system; the file identifies the version."""
    details = {"adapter": OUTSIDE, "file": record.file_name, "sha256": record.sha256, "format": record.format}
    versions = {}
    for speaker, title in record.systems.items():
        if title:
            bot = outside_system(title)
            StudyBot.objects.get_or_create(study=record.study, bot=bot, defaults={"target": 0})
            versions[speaker] = version_of(bot, details)
    return versions


def _batches(found: Iterator[Checked | Rated | Problem]) -> Iterator[list[Checked | Rated | Problem]]:
    while batch := list(islice(found, _BATCH)):
        yield batch


@dataclass
class _Writer:
    """Writer of conversations as open dialogues with their seats and turns, some at a time.

    Attributes:
        in_others: how many conversations were left out, because they are in another language.
        why: how that is known of one of these.
    """

    record: TranscriptImport
    versions: Mapping[str, BotVersion]
    now: datetime
    in_others: int = 0
    why: str = ""

    @property
    def opening_turns(self) -> int:
        return int(self.record.scripted_opening)

    @cached_property
    def language(self) -> str:
        return language_of(self.record.study, self.record.language)

    def write(self, conversations: list[Checked]) -> None:
        conversations = self._in_its_language(conversations)
        if not conversations:
            return
        raters = raters_of(self.record.study, conversations)
        dialogues = Dialogue.objects.bulk_create([self._dialogue(each, raters) for each in conversations])
        pairs = list(zip(dialogues, conversations, strict=True))
        seats = [(list(self._seats(*pair, raters)), pair[1]) for pair in pairs]
        Seat.objects.bulk_create([seat for two, _ in seats for seat in two])
        Material.objects.bulk_create([text for two, each in seats for text in _materials(two, each)])
        turns_of_pairs = [list(self._turns(*pair)) for pair in pairs]
        Turn.objects.bulk_create([turn for turns in turns_of_pairs for turn in turns])
        labels = (
            label
            for (dialogue, each), turns in zip(pairs, turns_of_pairs, strict=True)
            for label in labels_of(dialogue, turns, each, raters, self.now)
        )
        self.record.labels += len(Label.objects.bulk_create(labels))
        self.record.conversations += len(conversations)
        self.record.turns += sum(len(each.texts) for each in conversations)

    def _in_its_language(self, conversations: list[Checked]) -> list[Checked]:
        """Leave out conversations whose script does not fit the language, as the preview announced."""
        fitting = []
        for each in conversations:
            if why := contradiction(each.texts, self.language):
                self.in_others += 1
                self.why = why
            else:
                fitting.append(each)
        return fitting

    def refuse(self) -> None:
        """Say that none of the conversations could be in the language that was named.

        Raises:
            ImportRefusedError: always.
        """
        raise ImportRefusedError(
            _(
                "These conversations are %(why)s, so they cannot be in the language “%(language)s”, and "
                "workers who read that could not judge them. Choose their language, or import them into "
                "a study that has it. Nothing was imported."
            )
            % {"why": self.why, "language": self.language}
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
        """Bot version that wrote a turn; None for a person and for a scripted opening."""
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
                generation=dict(conversation.generations[position]) or None,
            )


def _materials(seats: Sequence[Seat], conversation: Checked) -> Iterator[Material]:
    for seat, texts in zip(seats, conversation.read, strict=True):
        for number, text in enumerate(texts, start=1):
            fields = asdict(text) | {"points": list(text.points)}
            yield Material(seat=seat, number=number, **fields)
