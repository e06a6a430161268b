"""Uploads of conversation files: stored, previewed, then imported (by `storing`) or discarded."""

import hashlib
import logging
import re
import zlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from io import BytesIO
from subprocess import SubprocessError
from typing import IO, Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from evaluation.texts.cleaning import may_be_in, script_title
from turnwise.accounts.models import User
from turnwise.contexts.packed_files import PackedFileError
from turnwise.dialogues.models import TranscriptImport, packed
from turnwise.live.caching import cache_key, cached
from turnwise.live.frames import why_not_text
from turnwise.live.subprocesses import TIMEOUT_SECONDS
from turnwise.questions.models import SetVersion
from turnwise.questions.queries import readable_versions, usable_keys
from turnwise.studies.models import Study
from turnwise.transcripts import import_progress, outside_ratings
from turnwise.transcripts.file_guessing import HEAD, FileSummary, described, format_in_subprocess, format_of
from turnwise.transcripts.file_reading import SHAPE, Preview, preview_from_json, preview_in_subprocess
from turnwise.transcripts.importers import FORMATS, Limits, ResearcherSets
from turnwise.transcripts.importers.turn_table import PARTS

log = logging.getLogger(__name__)

# The largest file of the published datasets that can be read (Topical-Chat's train.json) has 46 MB.
MAX_UPLOAD = 60 * 1024 * 1024  # bytes
ON_PAGE = Limits(conversations=100_000, turns=1_000_000)

OTHER = "other"  # value of the choice "a language that the study does not have"
_PACKED = (b"PK\x03\x04", b"PAR1")
_PERSON = re.compile(
    r"(human|user|people|person|worker|volunteer|prompter|customer|client|patient|student|agent_|you|me|我|用户)"
    r"[\s_]*\d*",
    re.IGNORECASE,
)


class ImportRefusedError(Exception):
    """The import was refused and changed nothing; the message says why and what to do."""


def upload(
    study: Study,
    file: IO[bytes],
    *,
    name: str,
    by: User,
    beside: IO[bytes] | None = None,
    now: datetime | None = None,
) -> TranscriptImport:
    """Store an upload with its guessed format until it is imported or discarded.

    An earlier upload of the same person that was not imported is discarded.

    Args:
        study: that it is for.
        file: the conversations.
        name: name of the file.
        by: who uploads it.
        beside: a second file of reading sets, kept after the first.
        now: when; now if not given.

    Raises:
        ImportRefusedError: it is empty, too large, or no text that could be read in any format.
    """
    content = file.read(MAX_UPLOAD + 1)
    if beside is not None and content.startswith(_PACKED):
        raise ImportRefusedError(
            _("Reading sets go with a JSON file of conversations, and “%(name)s” is packed.") % {"name": name}
        )
    if not content.strip():
        raise ImportRefusedError(_("“%(name)s” is empty. Choose a file with conversations.") % {"name": name})
    if beside is not None:
        content += b"\n" + beside.read(MAX_UPLOAD + 1).removeprefix(b"\xef\xbb\xbf")
    if len(content) > MAX_UPLOAD:
        raise ImportRefusedError(
            _(
                "“%(name)s” is larger than %(most)d\u00a0MB. Split it, or ask an admin to import it with "
                "manage.py import_dialogues."
            )
            % {"name": name, "most": MAX_UPLOAD // 1024**2}
        )
    is_packed = content.startswith(_PACKED)
    if not is_packed and (why := why_not_text(content)):
        raise ImportRefusedError(why)
    looks_like = _packed_format(content, name) if is_packed else format_of(BytesIO(content))
    if not looks_like and not is_packed and not _is_text(content):
        raise ImportRefusedError(
            _("“%(name)s” is not text in UTF-8. Save it as plain text or CSV in UTF-8, then upload that.")
            % {"name": name}
        )
    TranscriptImport.objects.filter(study=study, by=by, imported_at=None, asked_at=None).delete()
    return TranscriptImport.objects.create(
        study=study,
        by=by,
        file_name=name[:200],
        sha256=hashlib.sha256(content).hexdigest(),
        format=looks_like,
        uploaded_at=now or timezone.now(),
        content=packed(content),
    )


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _packed_format(content: bytes, name: str) -> str:
    """Format of a workbook or a Parquet file, guessed in a subprocess.

    Raises:
        ImportRefusedError: it cannot be read.
    """
    try:
        return format_in_subprocess(content)
    except PackedFileError as error:
        raise ImportRefusedError(_("“%(name)s”: %(why)s") % {"name": name, "why": str(error)}) from None
    except SubprocessError as error:
        log.warning("A packed upload could not be read: %s", error)
        raise ImportRefusedError(
            _("“%(name)s” could not be unpacked within %(seconds)d\u00a0s. Save it as CSV or JSON Lines.")
            % {"name": name, "seconds": TIMEOUT_SECONDS}
        ) from None


def describe_upload(draft: TranscriptImport) -> FileSummary:
    """Describe an upload of which the format is not known."""
    if not draft.content:
        return FileSummary("")
    head = zlib.decompressobj().decompress(draft.content, HEAD)
    if head.startswith(_PACKED):
        return FileSummary(_("It is a workbook or a Parquet file without columns that are known."))
    return described(head.decode(errors="ignore"))


def set_format(draft: TranscriptImport, key: str) -> None:
    """Read the file as this format from now on.

    Raises:
        ImportRefusedError: there is no such format.
    """
    if key not in FORMATS:
        raise ImportRefusedError(
            _("There is no format “%(key)s”. Choose one from the list.") % {"key": key[:40]}
        )
    draft.format, draft.columns = key, {}
    draft.save(update_fields=["format", "columns"])


def set_columns(draft: TranscriptImport, columns: Mapping[str, str]) -> None:
    """Read a table's parts of turns from these columns from now on.

    Args:
        draft: the upload.
        columns: names by part (`turn_table.PARTS`); empty: no column has it.
    """
    draft.columns = {part: columns.get(part, "") for part in PARTS}
    draft.save(update_fields=["columns"])


def preview_of(draft: TranscriptImport) -> Preview:
    """Preview an upload; empty while its format is unknown.

    Raises:
        ImportRefusedError: it could not be read in time, or not at all.
    """
    if not draft.format:
        return Preview()
    try:
        seen = preview_from_json(
            cached(
                read_as(draft),
                lambda: _read(draft),
            )
        )
    except SubprocessError as error:
        log.warning("Upload %s could not be read: %s", draft.pk, error)
        raise ImportRefusedError(
            _(
                "“%(name)s” could not be read within %(seconds)d\u00a0s. Split it, or ask an admin to import "
                "it with manage.py import_dialogues."
            )
            % {"name": draft.file_name, "seconds": TIMEOUT_SECONDS}
        ) from None
    leave_out_unrateable(draft.study, seen)
    return seen


def _read(draft: TranscriptImport) -> dict[str, Any]:
    content = draft.file
    return preview_in_subprocess(
        content, draft.format, ON_PAGE, draft.columns, researcher_sets(draft.by, content)
    )


def read_as(draft: TranscriptImport) -> str:
    """Cache key of the upload's preview."""
    columns = sorted(draft.columns.items())
    usable = usable_keys(draft.by) if draft.by else []
    return cache_key(
        "preview", SHAPE, draft.sha256, draft.format, ON_PAGE.conversations, ON_PAGE.turns, columns,
        draft.by_id, usable,
    )  # fmt: skip


def leave_out_unrateable(study: Study, seen: Preview) -> None:
    """Turn ratings for which the study has no conversation into problems."""
    rateable = outside_ratings.Rateable.of(study, seen.rated)
    for name, line in [*seen.rated.items()]:
        if problem := rateable.wrong(name, line):
            seen.leave_out(name, problem)
    seen.problems.sort(key=lambda problem: problem.line)


def guessed_systems(speakers: Iterable[str], *, talkers_judge: bool = False) -> dict[str, str]:
    """Guess the system of each speaker, empty for a person.

    If all are people, then people are what is judged: both are the system “Human”, unless they came with
    their own judgments.
    """
    names = list(speakers)
    systems = {name: "" if _PERSON.fullmatch(name) else name for name in names}
    return systems if talkers_judge or any(systems.values()) else dict.fromkeys(names, "Human")


def language_of(study: Study, asked: str) -> str:
    """The language that conversations come in with.

    Raises:
        ImportRefusedError: it is none of the study, or the study has several and none was named.
    """
    language = asked or study.only_language
    refuse_unsaid(study, language)
    return language


def refuse_unsaid(study: Study, language: str) -> None:
    """Let no conversations in before somebody has said in which language they are.

    Raises:
        ImportRefusedError: nobody has, or it is none of the study.
    """
    have = ", ".join(study.languages)
    if not language:
        raise ImportRefusedError(
            _("Say in which language these conversations are: one of the study's, %(have)s.") % {"have": have}
        )
    if language == OTHER:
        raise ImportRefusedError(
            _(
                "Workers of this study read %(have)s, so they could not judge these conversations. Add their "
                "language to the study, or import them into one that has it. Nothing was imported."
            )
            % {"have": have}
        )
    if language not in study.languages:
        raise ImportRefusedError(
            _(
                "“%(language)s” is not a language of this study, which has %(have)s. Add it to the study, or "
                "import the conversations into another."
            )
            % {"language": language[:20], "have": have}
        )


def language_guessed(study: Study, seen: Preview) -> str:
    """The only study language that fits most conversations of a file; empty if it is ambiguous."""
    script = max(seen.scripts, key=lambda each: seen.scripts[each], default="")
    fitting = [code for code in study.languages if script and may_be_in(script, code)]
    return fitting[0] if len(fitting) == 1 else ""


def others_than(language: str, seen: Preview) -> list[tuple[int, str]]:
    """Number of conversations per script that does not fit the language."""
    return [
        (n, script_title(script)) for script, n in seen.scripts.items() if not may_be_in(script, language)
    ]


def refuse_unknown_format(format_key: str) -> None:
    """Let no file through whose format nobody can read.

    Raises:
        ImportRefusedError: this is such a format, or none.
    """
    if format_key not in FORMATS:
        raise ImportRefusedError(_("Choose a format first."))


def titles_of(systems: Mapping[str, str]) -> dict[str, str]:
    return {speaker: title.strip()[:120] for speaker, title in systems.items()}


@transaction.atomic
def ask_for(
    draft_id: int,
    *,
    systems: Mapping[str, str],
    scripted_opening: bool,
    language: str = "",
    parts: int = 0,
    now: datetime | None = None,
) -> bool:
    """Request the import of an upload as finished dialogues of its study, or as ratings of them.

    Args:
        draft_id: the upload.
        systems: by speaker, the title of the system that they are; empty for a person.
        scripted_opening: whether first turns are scripted, so that nobody judges them.
        language: language of the conversations, one of the study; may be left out where that has one only.
        parts: number of parts in the preview, for the progress.
        now: when; now if not given.

    Returns:
        True if a process must be started for it; False if it was requested before.

    Raises:
        ImportRefusedError: it cannot come in like this; nothing was changed.
    """
    draft = TranscriptImport.objects.select_for_update(of=("self",)).select_related("study").get(pk=draft_id)
    if draft.imported_at or draft.is_in_progress:
        return False
    refuse_unknown_format(draft.format)
    if systems:
        language_of(draft.study, language)
    draft.systems = titles_of(systems)
    draft.scripted_opening = scripted_opening
    draft.language = language
    draft.asked_at, draft.refusal = now or timezone.now(), ""
    draft.save(update_fields=["systems", "scripted_opening", "language", "asked_at", "refusal"])
    import_progress.begin(draft.pk, parts)
    return True


# As the key of a member in JSON, which is how labels name a set.
_NAMED = re.compile(rb'"([^"\\\s]{1,34}-v\d{1,5})"\s*:')


def researcher_sets(user: User | None, content: bytes) -> ResearcherSets:
    """The sets of researchers that this file names and this person may use.

    Args:
        user: the person who imports the file; None if their account was deleted: no sets.
        content: the file.
    """
    if user is None:
        return ResearcherSets()
    keys = {key.decode(errors="ignore") for key in set(_NAMED.findall(content))}
    usable = readable_versions(user, keys).values_list("key", "declaration") if keys else ()
    return ResearcherSets(dict(usable), usable_keys(user))


def every_set() -> ResearcherSets:
    """All sets of researchers, for imports by people who operate the installation."""
    versions = dict(SetVersion.objects.values_list("key", "declaration"))
    return ResearcherSets(versions, sorted(versions))
