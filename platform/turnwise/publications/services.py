"""Publishing a report, and revoking its address."""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from turnwise.accounts.models import User
from turnwise.judging.queries import judgments_in
from turnwise.publications.models import Publication, PublishedRows, PublishedVersion
from turnwise.publications.row_files import RowsChoice, make_archive, planned_files
from turnwise.publications.snapshots import (
    Details,
    as_text,
    charts_of,
    comparable_key,
    hash_of,
    publishable_report,
    snapshot_of,
)
from turnwise.reports.models import Report
from turnwise.reports.services import covers
from turnwise.studies import bundles
from turnwise.studies.models import Study

_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{1,58}[a-z0-9])")
_UNGUESSABLE_BYTES = 9


@dataclass(frozen=True, slots=True)
class Listing:
    """Where a publication may be found: by search engines, and in leaderboards."""

    is_indexed: bool = False
    in_leaderboard: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """A version as it would be published.

    Attributes:
        snapshot: the public document.
        charts: its charts.
        files: tables of the archive of rows; empty without one.
        digest: hash of all that becomes public, without the day; equal for equal drafts.
        number: number of the version.
    """

    snapshot: Mapping[str, Any]
    charts: Sequence[Mapping[str, Any]]
    files: Sequence[Mapping[str, Any]]
    digest: str
    number: int


def current_publication(study: Study) -> Publication | None:
    """The study's publication whose address is not revoked; None without one."""
    return Publication.objects.filter(study=study, revoked_at=None).first()


def draft(
    study: Study,
    details: Details,
    address: str,
    listing: Listing,
    choice: RowsChoice,
    *,
    now: datetime | None = None,
) -> Draft:
    """Make what would become public, for the preview.

    Raises:
        ValidationError: nothing can be published, or it is too large.
    """
    report = publishable_report(study)
    publication = current_publication(study)
    newest = publication.versions.first() if publication else None
    number = newest.number + 1 if newest else 1
    if choice is not RowsChoice.NONE:
        _check_coverage(report, study)
    snapshot = snapshot_of(study, report, details, number, (now or timezone.now()).date())
    files = planned_files(study, choice)
    undated = {key: value for key, value in snapshot.items() if key != "published_on"}
    digest = hash_of(
        {
            "snapshot": undated,
            "address": publication.slug if publication else address,
            "listing": [listing.is_indexed, listing.in_leaderboard],
            "rows": choice.value,
            "files": [[each["name"], each["columns"]] for each in files],
        }
    )
    return Draft(snapshot, charts_of(report), files, digest, number)


def _check_coverage(report: Report, study: Study) -> None:
    if not covers(report, study, judgments_in(study)):
        raise ValidationError(
            _(
                "The study has newer results than its report, so its rows would not fit the figures. Wait "
                "for the new report, or publish without rows."
            )
        )


@transaction.atomic
def publish(
    study: Study,
    details: Details,
    address: str,
    listing: Listing,
    choice: RowsChoice,
    *,
    by: User,
    previewed: str,
    now: datetime | None = None,
) -> PublishedVersion | None:
    """Publish the study's newest report as the next version at its address.

    Args:
        study: the study.
        details: what the publisher says about it.
        address: last part of the address of a first version; "" for an unguessable one.
        listing: where it may be found.
        choice: the rows to publish with it.
        by: the publisher.
        previewed: `digest` of the draft that the publisher read.
        now: time of publication.

    Returns:
        The version; None if the draft has changed since, and nothing was published.

    Raises:
        ValidationError: nothing can be published, or the address is taken or no address.
    """
    now = now or timezone.now()
    # First, so that a withdrawal either comes before this reads, or finds what this stores.
    bundles.lock_bundles()
    study = Study.objects.get(pk=study.pk)
    made = draft(study, details, address, listing, choice, now=now)
    if made.digest != previewed:
        return None
    existing = Publication.objects.select_for_update().filter(study=study, revoked_at=None).first()
    publication = existing or _new_address(study, address)
    publication.is_indexed, publication.in_leaderboard = listing.is_indexed, listing.in_leaderboard
    publication.save(update_fields=["is_indexed", "in_leaderboard"])
    text = as_text(made.snapshot)
    version = PublishedVersion.objects.create(
        publication=publication,
        number=made.number,
        published_at=now,
        by=by,
        snapshot=text,
        sha256=hash_of(made.snapshot),
        charts=list(made.charts),
        comparable=comparable_key(made.snapshot),
    )
    if archive := make_archive(study, choice):
        PublishedRows.objects.create(
            version=version,
            study=study,
            quotes=list(archive.quotes),
            content=archive.content,
            size=len(archive.content),
            sha256=archive.sha256,
            files=list(archive.files),
        )
    return version


def check_address(address: str) -> None:
    """Raise ValidationError if this cannot be the last part of an address, or is taken."""
    if not address:
        return
    if not _SLUG.fullmatch(address):
        raise ValidationError(
            _(
                "“%(address)s” cannot be part of an address. Use 3 to 60 small letters from a to z, "
                "digits and hyphens, with a letter or digit at both ends; or leave it empty for one that "
                "nobody guesses."
            )
            % {"address": address[:80]}
        )
    if Publication.objects.filter(slug=address).exists():
        raise ValidationError(
            _("The address “%(address)s” is taken, also if it was revoked. Choose another one.")
            % {"address": address}
        )


def _new_address(study: Study, address: str) -> Publication:
    check_address(address)
    slug = address or secrets.token_hex(_UNGUESSABLE_BYTES)
    try:
        with transaction.atomic():
            return Publication.objects.create(study=study, slug=slug)
    except IntegrityError:  # another person took it at the same moment
        check_address(slug)
        raise


def change_listing(publication: Publication, listing: Listing) -> None:
    Publication.objects.filter(pk=publication.pk).update(
        is_indexed=listing.is_indexed, in_leaderboard=listing.in_leaderboard
    )


@transaction.atomic
def revoke(publication: Publication, *, now: datetime | None = None) -> None:
    """Take all versions from the public, for good, and delete their rows. Idempotent."""
    Publication.objects.select_for_update().get(pk=publication.pk)
    PublishedRows.objects.filter(version__publication=publication).delete()
    Publication.objects.filter(pk=publication.pk, revoked_at=None).update(
        revoked_at=now or timezone.now(), in_leaderboard=False, is_indexed=False
    )
