"""A study's bundle as its page has it: asked for, made by a process of its own, handed out for a day."""

import logging
import shutil
import tempfile
from collections.abc import Generator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import IO, Any

from django.conf import settings
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from redis.exceptions import RedisError

from turnwise.accounts.models import User
from turnwise.exports.bundle import Covered, Stage, quoted_in, write_bundle
from turnwise.judging.queries import judgments_in
from turnwise.live.jobs import BUNDLES, is_worked_on, only_here, why_ended
from turnwise.reports.services import covers
from turnwise.studies import bundles
from turnwise.studies.models import Bundle, BundlePart, Study

log = logging.getLogger(__name__)

# Of all studies together: each keeps a processor and a snapshot of the database.
MOST_AT_ONCE = 2
# One that nobody has begun for so long is looked after.
PATIENCE = timedelta(minutes=5)
KEPT = timedelta(days=1)
# So much of the disk is left to others.
SPARED_BYTES = 1 << 30
PART_BYTES = 1 << 20
_TOLD_SECONDS = 86_400


class NoRoomError(Exception):
    """The disk has no room for it."""


class QuotesMoreError(Exception):
    """It quotes studies of which nobody knew when it was asked for: what they take back might stay in it."""


@transaction.atomic
def ask_for(study: Study, *, by: User, now: datetime | None = None) -> tuple[Bundle, bool]:
    """The study's bundle under way, and whether it is new, so that somebody has to begin it.

    One that is made already stays until the new one is.

    Raises:
        ValidationError: others are being made; says what to do.
    """
    bundles.keep_others_out()
    under_way = [each for each in _under_way() if look_after(each).is_under_way]
    for each in under_way:
        if each.study_id == study.pk:
            return each, False
    if len(under_way) >= MOST_AT_ONCE:
        raise ValidationError(_("Other bundles are being made at the moment. Try again in a minute."))
    bundles.delete(study.bundles.exclude(reason=""))
    return Bundle.objects.create(
        study=study, by=by, asked_at=now or timezone.now(), quotes=quoted_in(study)
    ), True


def look_after(bundle: Bundle) -> Bundle:
    """The bundle as it is; one whose process is gone, or never came, has failed."""
    if not bundle.is_under_way:
        return bundle
    if bundle.begun_at:
        why = _("Its process ended unexpectedly, or was not done within an hour; the log may say why.")
    elif timezone.now() - bundle.asked_at > PATIENCE:
        why = _("Nothing began to make it: the worker for jobs is busy, or does not run.")
    else:
        return bundle
    if not is_worked_on(BUNDLES, bundle.pk):
        give_up(bundle.pk, why)
        bundle.refresh_from_db()
    return bundle


def make(bundle_id: int) -> None:
    """Make a bundle that was asked for and store it; one that nobody waits for any more is left alone.

    Its page hears how far it is, and why it could not be made.
    """
    with only_here(BUNDLES, bundle_id) as is_ours:
        if not is_ours or not _wanted(bundle_id).update(begun_at=timezone.now()):
            return
        try:
            _make(Bundle.objects.get(pk=bundle_id))
        except (Bundle.DoesNotExist, IntegrityError):
            if Bundle.objects.filter(pk=bundle_id).exists():
                raise
            log.info("Bundle %s is not wanted any more: something was taken back from its study.", bundle_id)
        except Exception as error:
            log.exception("Bundle %s could not be made.", bundle_id)
            give_up(bundle_id, _said(error))


def _said(error: Exception) -> str:
    is_told = isinstance(error, NoRoomError | QuotesMoreError)
    return str(error) if is_told else why_ended(error)


def _make(bundle: Bundle) -> None:
    def tell(stage: Stage, done: int = 0, of: int = 0) -> None:
        _refuse_full_disk(tempfile.gettempdir())
        note(bundle, stage, done, of)

    with tempfile.TemporaryFile() as file:
        covered = write_bundle(bundle.study_id, file, tell)
        _refuse_unknown(covered, bundle)
        size = file.tell()
        tell(Stage.STORING)
        _refuse_full_disk(str(settings.VAR), more=size)  # the database is on that disk, or elsewhere
        file.seek(0)
        _store_parts(bundle, file)
        if _hand_out(bundle, {"size": size, **covered._asdict()}):
            bundles.note_export(
                bundle.study_id, results_version=covered.results_version, judgments=covered.judgments
            )


def _refuse_unknown(covered: Covered, bundle: Bundle) -> None:
    if not set(covered.quotes) <= set(bundle.quotes):
        raise QuotesMoreError(
            _("Texts of this study, or of others for it, came to be judged meanwhile. Make the bundle again.")
        )


def _refuse_full_disk(folder: str, *, more: int = 0) -> None:
    if shutil.disk_usage(folder).free < SPARED_BYTES + more:
        raise NoRoomError(
            _("The disk of %(folder)s is nearly full. An admin has to make room there.") % {"folder": folder}
        )


def _store_parts(bundle: Bundle, file: IO[bytes]) -> None:
    """Each by itself: whoever takes something back from the study waits for one of them, not for all.

    Raises:
        IntegrityError: somebody did, and the bundle is gone.
    """
    number = 0
    while content := file.read(PART_BYTES):
        BundlePart.objects.create(bundle=bundle, number=number, content=content)
        number += 1


@transaction.atomic
def _hand_out(bundle: Bundle, made: dict[str, Any]) -> bool:
    """Whether anybody still waits for it."""
    bundles.keep_others_out()
    is_wanted = bool(_wanted(bundle.pk).update(made_at=timezone.now(), **made))
    if is_wanted:
        bundles.delete(bundle.study.bundles.exclude(pk=bundle.pk))
    return is_wanted


def _wanted(bundle_id: int) -> QuerySet[Bundle]:
    return _under_way().filter(pk=bundle_id)


def _under_way() -> QuerySet[Bundle]:
    return Bundle.objects.filter(made_at=None, reason="")


def give_up(bundle_id: int, why: str) -> None:
    """It is not made, for this reason, and may be asked for again."""
    with transaction.atomic():
        if _wanted(bundle_id).update(reason=why):
            BundlePart.objects.filter(bundle=bundle_id).delete()


def drop_old(*, now: datetime | None = None) -> None:
    old = (now or timezone.now()) - KEPT
    bundles.delete(Bundle.objects.filter(Q(made_at__lte=old) | Q(made_at=None, asked_at__lte=old)))


def note(bundle: Bundle, stage: str, done: int = 0, of: int = 0) -> None:
    """It is that far."""
    with suppress(RedisError):  # what is told of it is no reason to stop
        cache.set(_key(bundle), {"stage": stage, "done": done, "of": of}, timeout=_TOLD_SECONDS)


def progress(bundle: Bundle) -> dict[str, Any]:
    """Its stage, and how much of that is `done` `of` all; empty if that is not known."""
    with suppress(RedisError):
        return cache.get(_key(bundle)) or {}
    return {}


def _key(bundle: Bundle) -> str:
    return f"bundle.{bundle.pk}"


def is_stale(bundle: Bundle) -> bool:
    """Whether the study has newer results than a bundle that is made."""
    return not covers(bundle, bundle.study, judgments_in(bundle.study))


def chunks(bundle: Bundle) -> Generator[bytes]:
    """What the archive is made of.

    Raises:
        RuntimeError: it was deleted meanwhile. The browser then has less than it was told.
    """
    left = bundle.size
    for number in range(-(-bundle.size // PART_BYTES)):
        part = BundlePart.objects.filter(bundle=bundle.pk, number=number).first()
        if part is None:
            break
        left -= len(part.content)
        yield bytes(part.content)
    if left:
        raise RuntimeError(f"Bundle {bundle.pk} was deleted while it was downloaded.")
