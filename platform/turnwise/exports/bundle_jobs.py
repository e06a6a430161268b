"""Life of a study's bundle: requested on its page, made in a detached process, kept for a day."""

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
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from redis.exceptions import RedisError

from turnwise.accounts.models import User
from turnwise.exports.bundle import BundleContents, Stage, quoted_studies, write_bundle
from turnwise.judging.queries import judgments_in
from turnwise.live.jobs import BUNDLES, describe_failure, exclusive_lock, is_locked
from turnwise.live.published_events import Event, EventType, publish
from turnwise.reports.services import covers
from turnwise.studies import bundles
from turnwise.studies.models import Bundle, BundlePart, Study

log = logging.getLogger(__name__)

# Limit for all studies together: each bundle occupies a processor and a database snapshot.
MAX_CONCURRENT = 2
# A bundle that has not started after this time has failed.
TIMEOUT = timedelta(minutes=5)
KEEP_FOR = timedelta(days=1)
# Disk space that bundles leave free.
MIN_FREE_BYTES = 1 << 30
PART_BYTES = 1 << 20
_PROGRESS_SECONDS = 86_400


class DiskFullError(Exception):
    """Raised if the disk is nearly full."""


class NewlyQuotedStudiesError(Exception):
    """Raised if a bundle quotes studies unknown at its request: data withdrawn there might stay in it."""


@transaction.atomic
def request_bundle(study: Study, *, by: User, now: datetime | None = None) -> tuple[Bundle, bool]:
    """Request a bundle: return the study's bundle in progress, and whether it is new and must be started.

    The previous bundle stays until the new one is ready.

    Raises:
        ValidationError: too many other bundles are in progress.
    """
    bundles.lock_bundles()
    under_way = [each for each in _in_progress() if fail_if_abandoned(each).is_in_progress]
    for each in under_way:
        if each.study_id == study.pk:
            return each, False
    if len(under_way) >= MAX_CONCURRENT:
        raise ValidationError(_("Other bundles are being made at the moment. Try again in a minute."))
    bundles.delete(study.bundles.exclude(reason=""))
    return Bundle.objects.create(
        study=study, by=by, asked_at=now or timezone.now(), quotes=quoted_studies(study)
    ), True


def fail_if_abandoned(bundle: Bundle) -> Bundle:
    """Mark a bundle as failed if its process died or never started; return the bundle."""
    if not bundle.is_in_progress:
        return bundle
    if bundle.begun_at:
        why = _("Its process ended unexpectedly or took longer than an hour. The log may say why.")
    elif timezone.now() - bundle.asked_at > TIMEOUT:
        why = _("No process started to make it: the job worker is busy or is not running.")
    else:
        return bundle
    if not is_locked(BUNDLES, bundle.pk):
        mark_failed(bundle.pk, why)
        bundle.refresh_from_db()
    return bundle


def make(bundle_id: int) -> None:
    """Make and store a requested bundle, unless it was deleted or failed meanwhile.

    Saves progress, and the reason of a failure, for its page.
    """
    with exclusive_lock(BUNDLES, bundle_id) as is_ours:
        if not is_ours or not _if_in_progress(bundle_id).update(begun_at=timezone.now()):
            return
        try:
            _make(Bundle.objects.get(pk=bundle_id))
        except (Bundle.DoesNotExist, IntegrityError):
            if Bundle.objects.filter(pk=bundle_id).exists():
                raise
            log.info("Bundle %s was deleted because data of its study was withdrawn.", bundle_id)
        except Exception as error:
            log.exception("Bundle %s could not be made.", bundle_id)
            mark_failed(bundle_id, _failure_reason(error))


def _failure_reason(error: Exception) -> str:
    is_explained = isinstance(error, DiskFullError | NewlyQuotedStudiesError)
    return str(error) if is_explained else describe_failure(error)


def _make(bundle: Bundle) -> None:
    def report_progress(stage: Stage, done: int = 0, of: int = 0) -> None:
        _refuse_full_disk(tempfile.gettempdir())
        save_progress(bundle, stage, done, of)

    with tempfile.TemporaryFile() as file:
        covered = write_bundle(bundle.study_id, file, report_progress)
        _refuse_unknown(covered, bundle)
        size = file.tell()
        report_progress(Stage.STORING)
        _refuse_full_disk(str(settings.VAR), more=size)  # the disk of the database, unless that is elsewhere
        file.seek(0)
        _store_parts(bundle, file)
        if _publish(bundle, {"size": size, **covered._asdict()}):
            bundles.record_export(
                bundle.study_id, results_version=covered.results_version, judgments=covered.judgments
            )


def _refuse_unknown(covered: BundleContents, bundle: Bundle) -> None:
    if not set(covered.quotes) <= set(bundle.quotes):
        raise NewlyQuotedStudiesError(
            _("New texts were added for judging while the bundle was made. Make the bundle again.")
        )


def _refuse_full_disk(folder: str, *, more: int = 0) -> None:
    if shutil.disk_usage(folder).free < MIN_FREE_BYTES + more:
        raise DiskFullError(
            _("The disk of %(folder)s is nearly full. An admin must free space there.") % {"folder": folder}
        )


def _store_parts(bundle: Bundle, file: IO[bytes]) -> None:
    """Store the parts in separate transactions, so that a withdrawal waits for one part only.

    Raises:
        IntegrityError: a withdrawal has deleted the bundle.
    """
    number = 0
    while content := file.read(PART_BYTES):
        BundlePart.objects.create(bundle=bundle, number=number, content=content)
        number += 1


@transaction.atomic
def _publish(bundle: Bundle, made: dict[str, Any]) -> bool:
    """Mark a bundle as made and delete the study's older ones; False if it was deleted or has failed."""
    bundles.lock_bundles()
    is_wanted = bool(_if_in_progress(bundle.pk).update(made_at=timezone.now(), **made))
    if is_wanted:
        bundles.delete(bundle.study.bundles.exclude(pk=bundle.pk))
        _publish_ready(bundle)
    return is_wanted


def _publish_ready(bundle: Bundle) -> None:
    study = bundle.study
    publish(
        Event(
            EventType.BUNDLE_READY,
            study_id=study.pk,
            data={"study": study.code, "bundle": bundle.pk},
            links={
                "page": reverse("exports:bundle", args=[study.pk]),
                "api": f"/api/studies/{study.code}/bundle.zip",
            },
        )
    )


def _if_in_progress(bundle_id: int) -> QuerySet[Bundle]:
    return _in_progress().filter(pk=bundle_id)


def _in_progress() -> QuerySet[Bundle]:
    return Bundle.objects.filter(made_at=None, reason="")


def mark_failed(bundle_id: int, why: str) -> None:
    """Mark a bundle in progress as failed for this reason. It may be requested again."""
    with transaction.atomic():
        if _if_in_progress(bundle_id).update(reason=why):
            BundlePart.objects.filter(bundle=bundle_id).delete()


def newest_and_made(study: Study) -> tuple[Bundle | None, Bundle | None]:
    """The study's newest bundle, and the one to download."""
    newest = study.bundles.select_related("by").first()
    newest = fail_if_abandoned(newest) if newest else None
    return newest, study.bundles.filter(made_at__isnull=False).select_related("by", "study").first()


def delete_old(*, now: datetime | None = None) -> None:
    old = (now or timezone.now()) - KEEP_FOR
    bundles.delete(Bundle.objects.filter(Q(made_at__lte=old) | Q(made_at=None, asked_at__lte=old)))


def save_progress(bundle: Bundle, stage: str, done: int = 0, of: int = 0) -> None:
    """Save the progress of a bundle for its page."""
    with suppress(RedisError):  # lost progress must not stop the bundle
        cache.set(_key(bundle), {"stage": stage, "done": done, "of": of}, timeout=_PROGRESS_SECONDS)


def progress(bundle: Bundle) -> dict[str, Any]:
    """Stage of a bundle, with `done` `of` all rows; empty if unknown."""
    with suppress(RedisError):
        return cache.get(_key(bundle)) or {}
    return {}


def _key(bundle: Bundle) -> str:
    return f"bundle.{bundle.pk}"


def is_stale(bundle: Bundle) -> bool:
    """Return whether the study has newer results than this bundle."""
    return not covers(bundle, bundle.study, judgments_in(bundle.study))


def chunks(bundle: Bundle) -> Generator[bytes]:
    """Yield the content of the archive.

    Raises:
        RuntimeError: the bundle was deleted meanwhile; the download is then shorter than announced.
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
