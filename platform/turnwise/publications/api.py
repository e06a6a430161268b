"""REST API of publications: preview and publish a report, change its listing, revoke it."""

import json
from datetime import datetime
from typing import Any, Literal

from django.http import Http404
from django.urls import reverse
from ninja import Field, Router, Schema, Status
from ninja.errors import HttpError

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.credentials import PEOPLE
from turnwise.accounts.limits import too_often
from turnwise.crowd.redaction import unreviewed
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.live.submitted_forms import filled_form
from turnwise.publications import services
from turnwise.publications.forms import MOST_AUTHORS, PublishForm
from turnwise.publications.models import Publication, PublishedVersion
from turnwise.publications.snapshots import publishable_report
from turnwise.studies.models import Study
from turnwise.studies.rest.lookup import study_at
from turnwise.studies.sharing.permissions import Permission

router = Router(tags=["studies"])
CHANGED = (
    "What would become public has changed since this preview. Read a new one: POST …/publications/preview."
)


class ListingIn(Schema, extra="forbid"):
    """Places where a published report may be found."""

    is_indexed: bool = Field(False, description="Whether search engines may list the page.")
    in_leaderboard: bool = Field(
        False, description="Whether the public leaderboard of its protocol has the results."
    )


class PublicationIn(ListingIn):
    """A version as its publisher describes it."""

    title: str = Field(min_length=1, max_length=200)
    authors: list[str] = Field([], max_length=MOST_AUTHORS, description="In the order of the citation.")
    licence: Literal["CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0", "CC0-1.0", "ODC-By-1.0"] = "CC-BY-4.0"
    address: str = Field(
        "",
        max_length=60,
        description="Last part of the address of a first version; empty for one that nobody guesses.",
    )
    rows: Literal["none", "answers", "bot_texts", "all_texts"] = Field(
        "none", description="Rows behind the figures: chosen answers, with what bots or all said."
    )
    consents: bool = Field(
        False,
        description="Of `all_texts`: the participants agreed that what they wrote is published, and you read "
        "it for personal data.",
    )


class PublishIn(PublicationIn):
    """A version to publish as it was previewed."""

    previewed: str = Field(max_length=64, description="`digest` of its preview.")


class PublicationPreviewOut(Schema):
    """A version as it would become public."""

    version: int
    digest: str = Field(description="Send it as `previewed` to publish exactly this.")
    results: dict[str, Any] = Field(description="The public document, `results.json`.")
    files: list[dict[str, Any]] = Field(description="Tables of the archive of rows, with their columns.")
    unreviewed: str = Field(
        description="Of `all_texts`: `never` if nobody has reviewed the texts for personal data, `newer` if "
        "texts came since; else empty."
    )


class PublishedVersionOut(Schema):
    """A published version."""

    number: int
    published_at: datetime
    sha256: str = Field(description="Of its `results.json`.")
    title: str
    address: str = Field(description="Of its page.")
    has_rows: bool
    rows_removed_at: datetime | None


class PublicationOut(Schema):
    """A public address with its versions."""

    slug: str
    address: str = Field(description="Of its page, which shows the newest version.")
    is_indexed: bool
    in_leaderboard: bool
    revoked_at: datetime | None
    versions: list[PublishedVersionOut] = Field(description="The newest first.")


@router.get("/studies/{slug:code}/publications", response=answers(list[PublicationOut], 404))
def publications(request: AuthenticatedHttpRequest, code: str) -> list[PublicationOut]:
    """List the public addresses of your own study, the newest first; one at most is not revoked."""
    rows = Publication.objects.filter(study=study_at(request, code, Permission.SHARE)).prefetch_related(
        "versions__rows"
    )
    return [_publication(request, each) for each in rows]


@router.post(
    "/studies/{slug:code}/publications/preview",
    response=answers(PublicationPreviewOut, 404, 409, 429, has_body=True),
    openapi_extra=PEOPLE,
)
def preview_publication(
    request: AuthenticatedHttpRequest, code: str, sent: PublicationIn
) -> PublicationPreviewOut:
    """Get what would become public; nothing is published."""
    study = study_at(request, code, Permission.SHARE)
    form = _form(request, study, sent)
    with refusals_as_conflicts():
        draft = services.draft(
            study, form.details, form.cleaned_data.get("address", ""), form.listing, form.choice
        )
    return PublicationPreviewOut(
        version=draft.number,
        digest=draft.digest,
        results=dict(draft.snapshot),
        files=[dict(each) for each in draft.files],
        unreviewed=unreviewed(study) if sent.rows == "all_texts" else "",
    )


@router.post(
    "/studies/{slug:code}/publications",
    response=answers(PublicationOut, 404, 409, 429, status=201, has_body=True),
    openapi_extra=PEOPLE,
)
def publish_report(request: AuthenticatedHttpRequest, code: str, sent: PublishIn) -> Status[PublicationOut]:
    """Publish the newest report of your own study, as previewed, as the next version at its address."""
    study = study_at(request, code, Permission.SHARE)
    form = _form(request, study, sent)
    with refusals_as_conflicts():
        made = services.publish(
            study, form.details, form.cleaned_data.get("address", ""), form.listing, form.choice,
            by=request.user, previewed=sent.previewed,
        )  # fmt: skip
    if made is None:
        raise HttpError(409, CHANGED)
    return Status(201, _publication(request, made.publication))


@router.patch(
    "/studies/{slug:code}/publications/listing", response=answers(PublicationOut, 404, has_body=True)
)
def list_publication(request: AuthenticatedHttpRequest, code: str, sent: ListingIn) -> PublicationOut:
    """Change where the published report may be found; what is left out stays."""
    publication = _current(study_at(request, code, Permission.SHARE))
    now = {"is_indexed": publication.is_indexed, "in_leaderboard": publication.in_leaderboard}
    services.change_listing(publication, services.Listing(**{**now, **sent.model_dump(exclude_unset=True)}))
    publication.refresh_from_db()
    return _publication(request, publication)


@router.post("/studies/{slug:code}/publications/revoke", response=answers(PublicationOut, 404))
def revoke_publication(request: AuthenticatedHttpRequest, code: str) -> PublicationOut:
    """Take all versions from the public, for good, and delete their rows. The address says so."""
    publication = _current(study_at(request, code, Permission.SHARE))
    services.revoke(publication)
    publication.refresh_from_db()
    return _publication(request, publication)


def _current(study: Study) -> Publication:
    publication = services.current_publication(study)
    if publication is None:
        raise Http404
    return publication


def _form(request: AuthenticatedHttpRequest, study: Study, sent: PublicationIn) -> PublishForm:
    """The page's form with these values.

    Raises:
        HttpError: nothing can be published (409), or there are too many requests (429).
        InvalidFieldsError: a value is wrong.
    """
    if too_often(request, "publish", rate="60/m", key="user"):
        raise HttpError(429, "Reports can be previewed and published 60 times a minute. Wait a little.")
    with refusals_as_conflicts():
        report = publishable_report(study)
    values = sent.model_dump(exclude={"previewed"}) | {"authors": "; ".join(sent.authors)}
    has_address = services.current_publication(study) is not None
    has_protocol = bool(report.result and report.result.get("protocol_key"))
    # The form has no field for them then, and their defaults say nothing.
    if has_address and not sent.address:
        del values["address"]
    if not has_protocol and not sent.in_leaderboard:
        del values["in_leaderboard"]
    return filled_form(
        lambda data: PublishForm(data, has_address=has_address, has_protocol=has_protocol), values
    )


def _publication(request: AuthenticatedHttpRequest, row: Publication) -> PublicationOut:
    def address(name: str, *parts: Any) -> str:
        return request.build_absolute_uri(reverse(f"publications:{name}", args=[row.slug, *parts]))

    return PublicationOut(
        slug=row.slug,
        address=address("page"),
        is_indexed=row.is_indexed,
        in_leaderboard=row.in_leaderboard,
        revoked_at=row.revoked_at,
        versions=[_version(each, address("version", each.number)) for each in row.versions.all()],
    )


def _version(row: PublishedVersion, address: str) -> PublishedVersionOut:
    return PublishedVersionOut(
        number=row.number,
        published_at=row.published_at,
        sha256=row.sha256,
        title=json.loads(row.snapshot)["title"],
        address=address,
        has_rows=hasattr(row, "rows"),
        rows_removed_at=row.rows_removed_at,
    )
