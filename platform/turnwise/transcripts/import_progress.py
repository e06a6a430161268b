"""Progress of imports that run in a subprocess, and the reason if one failed."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta

from django.core.cache import cache
from django.utils import timezone
from django.utils.translation import gettext as _
from redis.exceptions import RedisError

from turnwise.dialogues.models import TranscriptImport
from turnwise.live.jobs import IMPORTS, is_locked

# An import without a working process for this long counts as failed.
TIMEOUT = timedelta(minutes=2)
_KEPT_SECONDS = 86_400


def begin(record_id: int, parts: int) -> None:
    """Start the progress of an import at 0."""
    with suppress(RedisError):  # progress is optional
        cache.set_many({_of(record_id): parts, _done(record_id): 0}, timeout=_KEPT_SECONDS)


def add_parts(record_id: int, parts: int) -> None:
    """Add written parts to the progress."""
    with suppress(RedisError, ValueError):  # nobody asked for it on a page
        cache.incr(_done(record_id), parts)


def progress(record: TranscriptImport) -> Mapping[str, int]:
    """`done` of `parts`; empty if that is not known."""
    with suppress(RedisError):
        stored = cache.get_many([_of(record.pk), _done(record.pk)])
        if parts := stored.get(_of(record.pk)):
            return {"done": min(stored.get(_done(record.pk), 0), parts), "parts": parts}
    return {}


def refresh(record: TranscriptImport) -> TranscriptImport:
    """Reload an import, and mark it as failed if its process has ended."""
    if record.asked_at and not record.imported_at:
        if timezone.now() - record.asked_at > TIMEOUT and not is_locked(IMPORTS, record.pk):
            record_refusal(record.pk, _("Its process ended unexpectedly; the log says why. Import it again."))
        record.refresh_from_db(fields=["asked_at", "imported_at", "refusal"])
    return record


def record_refusal(record_id: int, why: str) -> None:
    """Record why an import failed, so that it can be requested again."""
    TranscriptImport.objects.filter(pk=record_id, imported_at=None).update(asked_at=None, refusal=why)


def _of(record_id: int) -> str:
    return f"import.{record_id}.parts"


def _done(record_id: int) -> str:
    return f"import.{record_id}.done"
