"""The REST API of sharing: shares of a study with people and groups, and transfers."""

from datetime import datetime
from typing import Annotated

from django.core.exceptions import ValidationError
from django.http import Http404
from django.shortcuts import get_object_or_404
from ninja import Field, Path, Router, Schema, Status
from ninja.errors import HttpError
from pydantic import StringConstraints

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import too_often
from turnwise.groups.queries import groups_of
from turnwise.live.cursors import PathKey
from turnwise.live.http_responses import answers
from turnwise.studies.models import Role, Share, Study, Transfer
from turnwise.studies.queries import studies_of
from turnwise.studies.sharing import services
from turnwise.studies.sharing.permissions import Permission

router = Router(tags=["studies"])

# Django's pattern of user names.
Name = Annotated[str, StringConstraints(pattern=r"^[\w.@+-]{1,150}$")]


class SharedGroupOut(Schema):
    """A group with which a study is shared."""

    id: int
    name: str


class ShareOut(Schema):
    """A person or a group with whom a study is shared."""

    name: str | None = Field(description="User name of the person; null for a group.")
    group: SharedGroupOut | None = Field(description="The group; null for a person.")
    role: Role
    may_bundle: bool = Field(description="Whether a reviewer or reader may download the bundle.")
    may_pay: bool = Field(description="Whether an editor may handle payments.")


class ShareIn(Schema, extra="forbid"):
    """The role of a person or a group in a study."""

    role: Role = Field(description="What each role may do: manual page “People”.")
    may_bundle: bool = Field(
        False, description="Let a reviewer or reader download the bundle, which holds personal data."
    )
    may_pay: bool = Field(False, description="Let an editor handle payments.")


class TransferIn(Schema, extra="forbid"):
    """An offer of a study to another account."""

    to: Name = Field(description="User name of the new owner.")
    keeps_editing: bool = Field(True, description="Whether the old owner becomes an editor with payments.")
    at_once: bool = Field(False, description="Do not wait for an answer; only for admins.")


class TransferOut(Schema):
    """A transfer of a study."""

    study: str = Field(description="Code of the study.")
    title: str
    owner: str = Field(description="User name of the owner when it was offered.")
    to: str
    keeps_editing: bool
    offered_at: datetime
    ended_at: datetime | None
    outcome: str = Field(description="accepted, withdrawn or declined; empty while it is open.")


@router.get("/studies/{slug:code}/shares", response=answers(list[ShareOut], 404))
def shares(request: AuthenticatedHttpRequest, code: str) -> list[ShareOut]:
    """List the people and groups with whom the study is shared; only its owner may call this."""
    return _shares(_owned(request, code))


@router.put("/studies/{slug:code}/shares/{person}", response=answers(ShareOut, 404, 429, has_body=True))
def share(request: AuthenticatedHttpRequest, code: str, person: Path[Name], sent: ShareIn) -> ShareOut:
    """Share the study with a person, or change their role."""
    study = _owned(request, code)
    _count_names(request)
    try:
        return _share_out(services.share_with_person(study, person, **sent.model_dump()))
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None


@router.delete("/studies/{slug:code}/shares/{person}", response=answers(list[ShareOut], 404, 422))
def stop_sharing(request: AuthenticatedHttpRequest, code: str, person: Path[Name]) -> list[ShareOut]:
    """Stop sharing the study with a person. Returns the shares that remain."""
    study = _owned(request, code)
    for each in study.shares.filter(person__username=person):
        services.stop_sharing(study, each.pk)
    return _shares(study)


@router.put("/studies/{slug:code}/group-shares/{int:group}", response=answers(ShareOut, 404, has_body=True))
def share_with_group(request: AuthenticatedHttpRequest, code: str, group: PathKey, sent: ShareIn) -> ShareOut:
    """Share the study with a group of which you are a member, or change its role."""
    study = _owned(request, code)
    found = get_object_or_404(groups_of(request.user), pk=group)
    return _share_out(services.share_with_group(study, found, **sent.model_dump()))


@router.delete("/studies/{slug:code}/group-shares/{int:group}", response=answers(list[ShareOut], 404, 422))
def stop_sharing_with_group(request: AuthenticatedHttpRequest, code: str, group: PathKey) -> list[ShareOut]:
    """Stop sharing the study with a group. Returns the shares that remain."""
    study = _owned(request, code)
    for each in study.shares.filter(group=group):
        services.stop_sharing(study, each.pk)
    return _shares(study)


@router.get("/transfers", response=answers(list[TransferOut]))
def offered_transfers(request: AuthenticatedHttpRequest) -> list[TransferOut]:
    """List the studies that others offer you."""
    return [_transfer_out(each) for each in services.offers_to(request.user)]


@router.get("/studies/{slug:code}/transfers", response=answers(list[TransferOut], 404))
def study_transfers(request: AuthenticatedHttpRequest, code: str) -> list[TransferOut]:
    """List the transfers of your study, the newest first."""
    return [_transfer_out(each) for each in _owned(request, code).transfers.select_related("study")]


@router.post(
    "/studies/{slug:code}/transfers", response=answers(TransferOut, 404, 429, status=201, has_body=True)
)
def offer_transfer(request: AuthenticatedHttpRequest, code: str, sent: TransferIn) -> Status[TransferOut]:
    """Offer your study to another account, which accepts or declines."""
    study = _owned(request, code)
    _count_names(request)
    act = services.transfer_at_once if sent.at_once else services.offer
    try:
        made = act(study, sent.to, keeps_editing=sent.keeps_editing, by=request.user)
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None
    return Status(201, _transfer_out(made))


@router.post("/studies/{slug:code}/transfers/withdraw", response=answers(TransferOut, 404, 409))
def withdraw_transfer(request: AuthenticatedHttpRequest, code: str) -> TransferOut:
    """Withdraw the open offer of your study."""
    study = _owned(request, code)
    try:
        return _transfer_out(services.withdraw(study))
    except services.NoOfferError:
        raise HttpError(409, "There is no open offer of this study.") from None


@router.post("/studies/{slug:code}/transfers/accept", response=answers(TransferOut, 404))
def accept_transfer(request: AuthenticatedHttpRequest, code: str) -> TransferOut:
    """Accept a study that is offered to you: it is yours from then on."""
    try:
        return _transfer_out(services.accept(_offered(request, code), by=request.user))
    except services.NoOfferError:
        raise Http404 from None


@router.post("/studies/{slug:code}/transfers/decline", response=answers(TransferOut, 404))
def decline_transfer(request: AuthenticatedHttpRequest, code: str) -> TransferOut:
    """Decline a study that is offered to you."""
    try:
        return _transfer_out(services.decline(_offered(request, code), by=request.user))
    except services.NoOfferError:
        raise Http404 from None


def _offered(request: AuthenticatedHttpRequest, code: str) -> int:
    return get_object_or_404(services.offers_to(request.user), study__code=code).study_id


def _count_names(request: AuthenticatedHttpRequest) -> None:
    """Limit attempts: otherwise callers could guess the names of accounts."""
    if too_often(request, "share", rate="60/h", key="user"):
        raise HttpError(429, "A study can be shared or offered 60 times an hour. Wait a little.")


def _owned(request: AuthenticatedHttpRequest, code: str) -> Study:
    owned = studies_of(request.user, Permission.SHARE).select_related("owner")
    return get_object_or_404(owned, code=code)


def _shares(study: Study) -> list[ShareOut]:
    return [_share_out(each) for each in study.shares.select_related("person", "group")]


def _share_out(row: Share) -> ShareOut:
    return ShareOut(
        name=row.person.get_username() if row.person else None,
        group=SharedGroupOut(id=row.group.pk, name=row.group.name) if row.group else None,
        role=Role(row.role),
        may_bundle=row.may_bundle,
        may_pay=row.may_pay,
    )


def _transfer_out(row: Transfer) -> TransferOut:
    return TransferOut(
        study=row.study.code,
        title=row.study.title,
        owner=row.from_name,
        to=row.to_name,
        keeps_editing=row.keeps_editing,
        offered_at=row.offered_at,
        ended_at=row.ended_at,
        outcome=row.outcome,
    )
