"""The REST API of groups."""

from datetime import datetime
from typing import Annotated

from django.core.exceptions import ValidationError
from django.db.models import Prefetch, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from ninja import Field, Path, Router, Schema, Status
from ninja.errors import HttpError
from pydantic import StringConstraints

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import too_often
from turnwise.groups import services
from turnwise.groups.models import Group, GroupInvitation, Membership
from turnwise.groups.queries import administered_groups_of, groups_of
from turnwise.live.cursors import PathKey
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.live.problems import InvalidFieldsError
from turnwise.studies.sharing.api import Name
from turnwise.trash.api import DeletionOut, deletion_out
from turnwise.workspace.groups.deleting import delete_group

router = Router(tags=["groups"])

ShortText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80)]


class GroupIn(Schema, extra="forbid"):
    """A group, such as a lab."""

    name: ShortText


class MemberOut(Schema):
    """A member of a group."""

    name: str = Field(description="User name.")
    is_admin: bool = Field(description="Whether they may invite, remove, rename and delete.")
    joined_at: datetime


class GroupOut(Schema):
    """A group of which you are a member."""

    id: int
    name: str
    members: list[MemberOut]


class MemberIn(Schema, extra="forbid"):
    """The role of a member."""

    is_admin: bool


class GroupInvitationIn(Schema, extra="forbid"):
    """An invitation by link."""

    whom: ShortText = Field(description="What the list of invitations calls them.")
    is_admin: bool = False


class GroupInvitationOut(Schema):
    """An open invitation, without its link."""

    id: int
    whom: str
    is_admin: bool
    expires_at: datetime


class NewGroupInvitationOut(GroupInvitationOut):
    """A new invitation with its link, which is shown this once."""

    link: str


class JoinIn(Schema, extra="forbid"):
    """Joining by a link."""

    secret: str = Field(min_length=1, max_length=100, description="The last part of the link.")


@router.get("/groups", response=answers(list[GroupOut]))
def groups(request: AuthenticatedHttpRequest) -> list[GroupOut]:
    """List your groups with their members; an admin of the installation sees all groups."""
    return [_group_out(each) for each in _with_members(groups_of(request.user))]


@router.post("/groups", response=answers(GroupOut, status=201, has_body=True))
def make_group(request: AuthenticatedHttpRequest, sent: GroupIn) -> Status[GroupOut]:
    """Make a group, whose first admin you are."""
    try:
        made = services.create_group(sent.name, by=request.user)
    except ValidationError as error:
        raise InvalidFieldsError.of(error) from None
    return Status(201, _group_out(made))


@router.get("/groups/{int:group}", response=answers(GroupOut, 404))
def one_group(request: AuthenticatedHttpRequest, group: PathKey) -> GroupOut:
    """Read a group of yours."""
    return _group_out(get_object_or_404(_with_members(groups_of(request.user)), pk=group))


@router.patch("/groups/{int:group}", response=answers(GroupOut, 404, has_body=True))
def rename_group(request: AuthenticatedHttpRequest, group: PathKey, sent: GroupIn) -> GroupOut:
    """Rename a group that you administer."""
    found = _administered(request, group)
    try:
        services.rename_group(found, sent.name)
    except ValidationError as error:
        raise InvalidFieldsError.of(error) from None
    return _group_out(found)


@router.delete("/groups/{int:group}", response=answers(DeletionOut, 404))
def remove_group(request: AuthenticatedHttpRequest, group: PathKey) -> DeletionOut:
    """Delete a group that you administer, with its shares; it can be put back for a day."""
    return deletion_out(delete_group(_administered(request, group), by=request.user))


@router.put("/groups/{int:group}/members/{person}", response=answers(GroupOut, 404, 409, has_body=True))
def change_member(
    request: AuthenticatedHttpRequest, group: PathKey, person: Path[Name], sent: MemberIn
) -> GroupOut:
    """Make a member an admin of the group, or no longer one. Members join by invitation."""
    found = _administered(request, group)
    member = get_object_or_404(found.memberships, person__username=person)
    with refusals_as_conflicts():
        services.set_group_admin(found, member.person_id, is_admin=sent.is_admin)
    return _group_out(found)


@router.delete("/groups/{int:group}/members/{person}", response=answers(list[GroupOut], 404, 409, 422))
def remove_member(request: AuthenticatedHttpRequest, group: PathKey, person: Path[Name]) -> list[GroupOut]:
    """Remove a member, or leave with your own name. Returns your groups."""
    is_own = person == request.user.get_username()
    found = get_object_or_404(groups_of(request.user), pk=group) if is_own else _administered(request, group)
    member = get_object_or_404(found.memberships, person__username=person)
    with refusals_as_conflicts():
        services.remove_member(found, member.person_id)
    return groups(request)


@router.get("/groups/{int:group}/invitations", response=answers(list[GroupInvitationOut], 404))
def group_invitations(request: AuthenticatedHttpRequest, group: PathKey) -> list[GroupInvitationOut]:
    """List the open invitations to a group that you administer."""
    rows = services.open_invitations(timezone.now()).filter(group=_administered(request, group))
    return [_invitation_out(each) for each in rows]


@router.post(
    "/groups/{int:group}/invitations",
    response=answers(NewGroupInvitationOut, 404, 409, 429, status=201, has_body=True),
)
def invite_to_group(
    request: AuthenticatedHttpRequest, group: PathKey, sent: GroupInvitationIn
) -> Status[NewGroupInvitationOut]:
    """Make a link that admits one account, once, within seven days."""
    found = _administered(request, group)
    if too_often(request, "group-invite", rate="60/h", key="user"):
        raise HttpError(429, "People can be invited 60 times an hour. Wait a little.")
    with refusals_as_conflicts():
        row, secret = services.invite(found, sent.whom, is_admin=sent.is_admin, by=request.user)
    link = request.build_absolute_uri(reverse("groups:join", args=[secret]))
    return Status(201, NewGroupInvitationOut(**_invitation_out(row).model_dump(), link=link))


@router.delete(
    "/groups/{int:group}/invitations/{int:invitation}", response=answers(list[GroupInvitationOut], 404)
)
def revoke_group_invitation(
    request: AuthenticatedHttpRequest, group: PathKey, invitation: PathKey
) -> list[GroupInvitationOut]:
    """Revoke an invitation; returns those that are open."""
    if not services.revoke_invitation(_administered(request, group), invitation):
        raise Http404
    return group_invitations(request, group)


@router.post("/groups/join", response=answers(GroupOut, 429, has_body=True))
def join_group(request: AuthenticatedHttpRequest, sent: JoinIn) -> GroupOut:
    """Join a group by the secret of an invitation."""
    if too_often(request, "join", rate="20/m", key="user"):
        raise HttpError(429, "Links can be tried 20 times a minute. Wait a little.")
    try:
        return _group_out(services.join(sent.secret, request.user))
    except services.NotInvitedError:
        says = "The link was used or revoked, has expired, or is not complete. Ask for a new one."
        raise InvalidFieldsError({"secret": [says]}) from None


def _administered(request: AuthenticatedHttpRequest, group: int) -> Group:
    return get_object_or_404(administered_groups_of(request.user), pk=group)


def _with_members(rows: QuerySet[Group]) -> QuerySet[Group]:
    return rows.prefetch_related(Prefetch("memberships", Membership.objects.select_related("person")))


def _group_out(group: Group) -> GroupOut:
    return GroupOut(
        id=group.pk,
        name=group.name,
        members=[
            MemberOut(name=each.person.get_username(), is_admin=each.is_admin, joined_at=each.joined_at)
            for each in group.memberships.all()
        ],
    )


def _invitation_out(row: GroupInvitation) -> GroupInvitationOut:
    return GroupInvitationOut(id=row.pk, whom=row.whom, is_admin=row.is_admin, expires_at=row.expires_at)
