"""Conversations from files become dialogues of a study. An import is one transaction, and can be undone."""

import hashlib
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from io import BytesIO
from itertools import islice
from subprocess import SubprocessError
from typing import IO, BinaryIO, TypeVar

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from dialogues.models import Dialogue, TranscriptImport
from live.apart import PATIENCE_SECONDS
from studies.models import Study
from studies.services import results_changed
from transcripts import ratings
from transcripts.importers import FORMATS, Checked, Limits, Problem, Rated, Source, checked, guessed
from transcripts.reading import Preview, checked_apart, read_apart
from transcripts.writing import Entry, ImportRefusedError, Writer, versions

log = logging.getLogger(__name__)

MAX_UPLOAD = 20 * 1024 * 1024  # bytes
ON_PAGE = Limits(conversations=5_000, turns=100_000)
BY_COMMAND = Limits(conversations=100_000, turns=3_000_000)

T = TypeVar("T")

_HEAD = 8192  # bytes, by which a format is guessed
_BATCH = 500
_PERSON = re.compile(r"(human|user|person|worker|volunteer|agent_|you|me|我|用户)[\s_]*\d*", re.IGNORECASE)


def upload(
    study: Study,
    file: IO[bytes],
    *,
    name: str,
    by: User,
    beside: IO[bytes] | None = None,
    now: datetime | None = None,
) -> TranscriptImport:
    """Keep a file, with the format that it looks like, until it is imported or thrown away.

    One that the same person uploaded before and did not import is thrown away.

    Args:
        study: that it is for.
        file: the conversations.
        name: of the file.
        by: who uploads it.
        beside: a second file of reading sets, kept after the first.
        now: when; now if not given.

    Raises:
        ImportRefusedError: it is empty or too large.
    """
    content = file.read(MAX_UPLOAD + 1)
    if not content.strip():
        raise ImportRefusedError(_("“%(name)s” is empty. Choose a file with conversations.") % {"name": name})
    if beside is not None:
        content += b"\n" + beside.read(MAX_UPLOAD + 1).removeprefix(b"\xef\xbb\xbf")
    if len(content) > MAX_UPLOAD:
        raise ImportRefusedError(
            _(
                "“%(name)s” is larger than %(most)d MB. Split it, or ask an admin to import it with "
                "manage.py import_dialogues."
            )
            % {"name": name, "most": MAX_UPLOAD // 1024**2}
        )
    TranscriptImport.objects.filter(study=study, by=by, imported_at=None).delete()
    return TranscriptImport.objects.create(
        study=study,
        by=by,
        file_name=name[:200],
        sha256=hashlib.sha256(content).hexdigest(),
        format=format_of(BytesIO(content)),
        uploaded_at=now or timezone.now(),
        content=content,
    )


def format_of(file: BinaryIO) -> str:
    """Key of the format that a file looks like, or ""; the file is then at its beginning again."""
    head = file.read(_HEAD).decode(errors="ignore")
    file.seek(0)
    return guessed(head)


def set_format(draft: TranscriptImport, key: str) -> None:
    """Read the file as this format from now on.

    Raises:
        ImportRefusedError: there is no such format.
    """
    if key not in FORMATS:
        raise ImportRefusedError(
            _("There is no format “%(key)s”. Choose one of the list.") % {"key": key[:40]}
        )
    draft.format = key
    draft.save(update_fields=["format"])


def preview_of(draft: TranscriptImport) -> Preview:
    """What importing this upload would bring in; nothing while its format is not known.

    Raises:
        ImportRefusedError: it could not be read in time, or not at all.
    """
    if not draft.format:
        return Preview()
    seen = _read(read_apart, draft)
    leave_out_unrateable(draft.study, seen)
    return seen


def leave_out_unrateable(study: Study, seen: Preview) -> None:
    """Turn ratings for which the study has no conversation into problems."""
    rateable = ratings.Rateable.of(study, seen.rated)
    for name, line in [*seen.rated.items()]:
        if problem := rateable.wrong(name, line):
            seen.leave_out(name, problem)
    seen.problems.sort(key=lambda problem: problem.line)


def _read(how: Callable[[bytes, str, Limits], T], draft: TranscriptImport) -> T:
    """What another process reads in the upload: this one may serve workers."""
    try:
        return how(bytes(draft.content or b""), draft.format, ON_PAGE)
    except SubprocessError as error:
        log.warning("Upload %s could not be read: %s", draft.pk, error)
        raise ImportRefusedError(
            _(
                "“%(name)s” could not be read within %(seconds)d s. Split it, or ask an admin to import it "
                "with manage.py import_dialogues."
            )
            % {"name": draft.file_name, "seconds": PATIENCE_SECONDS}
        ) from None


def guessed_systems(speakers: Iterable[str], *, talkers_judge: bool = False) -> dict[str, str]:
    """By speaker the system that they seem to be, empty for a person.

    If all are people, then people are what is judged: both are the system “Human”, unless they came with
    their own judgments.
    """
    names = list(speakers)
    systems = {name: "" if _PERSON.fullmatch(name) else name for name in names}
    return systems if talkers_judge or any(systems.values()) else dict.fromkeys(names, "Human")


@transaction.atomic
def import_draft(
    draft_id: int,
    *,
    systems: Mapping[str, str],
    scripted_opening: bool,
    language: str = "",
    now: datetime | None = None,
) -> TranscriptImport:
    """Bring an upload in as finished dialogues of its study, or as ratings of such. Safe to repeat.

    Args:
        draft_id: the upload.
        systems: by speaker, the title of the system that they are; empty for a person.
        scripted_opening: whether first turns are scripted, so that nobody judges them.
        language: of the conversations, one of the study; may be left out where that has one only.
        now: when; now if not given.

    Raises:
        ImportRefusedError: nothing can come in, or a conversation would have nothing to judge.
    """
    draft = TranscriptImport.objects.select_for_update(of=("self",)).select_related("study").get(pk=draft_id)
    if draft.imported_at is None:
        _refuse_unknown(draft.format)
        how = Entry(systems, scripted_opening, language)
        _bring_in(draft, _read(checked_apart, draft), how, now or timezone.now())
    return draft


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
) -> TranscriptImport:
    """Bring a file in that may be larger than an upload; as `import_draft` otherwise."""
    now = timezone.now()
    digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # any binary file will do
    file.seek(0)
    record = TranscriptImport.objects.create(
        study=study, file_name=name[:200], sha256=digest, format=format_key, uploaded_at=now, content=b""
    )
    how = Entry(systems, scripted_opening, language)
    _refuse_unknown(format_key)
    _bring_in(record, checked(Source(file), format_key, BY_COMMAND), how, now)
    return record


def _refuse_unknown(format_key: str) -> None:
    if format_key not in FORMATS:
        raise ImportRefusedError(_("Choose a format first."))


def _bring_in(
    record: TranscriptImport, found: Iterator[Checked | Rated | Problem], how: Entry, now: datetime
) -> None:
    record.systems = {speaker: title.strip()[:120] for speaker, title in how.systems.items()}
    writer = Writer(record, versions(record), how, now)
    for batch in _batches(found):
        writer.write([each for each in batch if isinstance(each, Checked)])
        ratings.store(record, [each for each in batch if isinstance(each, Rated)], now)
        record.left_out += sum(isinstance(each, Problem) for each in batch)
    if not record.conversations and not record.labels:
        raise ImportRefusedError(_("There is no conversation and no rating in the file that could come in."))
    # The database refuses turns in a finished dialogue, so they are finished last.
    record.dialogues.update(ending=Dialogue.Ending.COMPLETE, ended_at=now)
    record.imported_at, record.content = now, None
    record.save()
    results_changed(record.study_id)


def _batches(found: Iterator[Checked | Rated | Problem]) -> Iterator[list[Checked | Rated | Problem]]:
    while batch := list(islice(found, _BATCH)):
        yield batch
