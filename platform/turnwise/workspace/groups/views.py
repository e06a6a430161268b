"""Pages of groups."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from turnwise.accounts import mail
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import guessed_too_often, too_many, too_often
from turnwise.accounts.models import User
from turnwise.groups import services
from turnwise.groups.models import Group
from turnwise.groups.queries import administered_groups_of, groups_of
from turnwise.trash.views import offer_undo
from turnwise.workspace.groups.deleting import delete_group

MOST_STUDIES = 100


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def groups(request: AuthenticatedHttpRequest) -> HttpResponse:
    """List the user's groups; a POST creates one."""
    name, refused = request.POST.get("name", "")[:200], ""
    if request.method == "POST":
        try:
            made = services.create_group(name, by=request.user)
        except ValidationError as error:
            refused = " ".join(error.messages)
        else:
            messages.success(request, _("The group %(name)s is made. Invite its members.") % {"name": made})
            return redirect(made)
    counted = groups_of(request.user).annotate(
        members=Count("memberships", distinct=True), of_studies=Count("shared_studies", distinct=True)
    )
    context = {"groups": counted, "refused": refused, "name": name}
    return render(request, "groups/groups.html", context, status=422 if refused else 200)


@never_cache
@require_GET
@login_required
def group(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    return _page(request, get_object_or_404(groups_of(request.user), pk=pk))


def _page(request: AuthenticatedHttpRequest, found: Group, *, status: int = 200, **more: Any) -> HttpResponse:
    """Render the page of a group; `more` has the result of a form."""
    is_admin = administered_groups_of(request.user).filter(pk=found.pk).exists()
    members = list(found.memberships.select_related("person"))
    shares = found.shared_studies.select_related("study__owner").order_by("-study")
    invited = services.open_invitations(timezone.now()).filter(group=found).select_related("invited_by")
    context = {
        "group": found,
        "members": members,
        "is_member": any(each.person_id == request.user.pk for each in members),
        "is_admin": is_admin,
        "shares": shares[:MOST_STUDIES],
        "of_studies": shares.count(),
        "invited": invited if is_admin else (),
        "days": services.INVITATION_LIFETIME.days,
        "has_mail": bool(settings.MAIL_FROM),
    }
    return render(request, "groups/group.html", context | more, status=status)


def _administered(request: HttpRequest, pk: int) -> Group:
    return get_object_or_404(administered_groups_of(request.user), pk=pk)


@require_POST
@login_required
def rename(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    found = _administered(request, pk)
    try:
        services.rename_group(found, request.POST.get("name", "")[:200])
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, _("The group is called %(name)s now.") % {"name": found.name})
    return redirect("groups:group", pk=pk)


@never_cache
@require_POST
@login_required
def invite(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """Create an invitation, show its link once, and mail it if an address is given."""
    found = _administered(request, pk)
    if too_often(request, "group-invite", rate="60/h", key="user"):
        return too_many(request)
    whom, is_admin = request.POST.get("whom", "")[:200], request.POST.get("role") == "admin"
    email = request.POST.get("email", "")[:300] if settings.MAIL_FROM else ""
    try:
        email = mail.checked_address(email)
        _invitation, secret = services.invite(found, whom, is_admin=is_admin, by=request.user)
    except ValidationError as error:
        refused = {"not_invited": " ".join(error.messages), "whom": whom, "email": email}
        return _page(request, found, status=422, invited_as_admin=is_admin, **refused)
    link = request.build_absolute_uri(reverse("groups:join", args=[secret]))
    mailed = bool(email) and _mail_invitation(request.user, found, whom, email, link)
    return _page(
        request, found, link=link, whom_linked=whom, mailed_to=email if mailed else "", not_mailed_to=email
    )


def _mail_invitation(by: User, group: Group, whom: str, email: str, link: str) -> bool:
    text = _(
        "Dear %(whom)s,\n\n%(by)s invites you to the group %(group)s on Turnwise. Sign in with your account "
        "to join. The link admits one account, once, within %(days)d days:\n\n%(link)s\n"
    ) % {
        "whom": whom,
        "by": by,
        "group": group,
        "days": services.INVITATION_LIFETIME.days,
        "link": link,
    }
    return mail.send(email, _("Invitation to a group on Turnwise"), text)


@require_POST
@login_required
def revoke(request: AuthenticatedHttpRequest, pk: int, invitation: int) -> HttpResponse:
    if services.revoke_invitation(_administered(request, pk), invitation):
        messages.success(request, _("The link no longer lets anybody in."))
    else:
        messages.error(
            request, _("No changes were made: the link had already been used, revoked or had expired.")
        )
    return redirect("groups:group", pk=pk)


@require_POST
@login_required
def change_member(request: AuthenticatedHttpRequest, pk: int, person: int) -> HttpResponse:
    """Make a member an admin of the group or no longer one, or remove them."""
    found, what = _administered(request, pk), request.POST.get("what", "")
    try:
        if what == "remove":
            services.remove_member(found, person)
            messages.success(
                request, _("They are no longer a member, and no longer see what is shared with the group.")
            )
        elif what in ("make_admin", "make_member"):
            services.set_group_admin(found, person, is_admin=what == "make_admin")
            messages.success(request, _("Saved."))
        else:
            messages.error(request, _("No changes were made: “%(what)s” is not known.") % {"what": what[:20]})
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return (
        redirect("groups:group", pk=pk)
        if groups_of(request.user).filter(pk=pk).exists()
        else redirect("groups:groups")
    )


@require_POST
@login_required
def leave(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(groups_of(request.user), pk=pk)
    try:
        services.remove_member(found, request.user.pk)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("groups:group", pk=pk)
    messages.success(request, _("You have left %(group)s.") % {"group": found})
    return redirect("groups:groups")


@require_POST
@login_required
def delete(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    found = _administered(request, pk)
    deletion = delete_group(found, by=request.user)
    offer_undo(request, _("The group %(name)s is deleted.") % {"name": found.name}, deletion)
    return redirect("groups:groups")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def join(request: AuthenticatedHttpRequest, secret: str) -> HttpResponse:
    """Join a group by an invitation link."""
    if guessed_too_often(request, "join", rate="20/m"):
        return too_many(request)
    try:
        invitation = services.invitation_of(secret)
        if request.method == "POST":
            joined = services.join(secret, request.user)
            messages.success(request, _("You are a member of %(group)s.") % {"group": joined})
            return _private(redirect(joined))
    except services.NotInvitedError:
        return _private(render(request, "groups/join.html", {"refused": True}, status=404))
    return _private(render(request, "groups/join.html", {"invitation": invitation}))


def _private(response: HttpResponse) -> HttpResponse:
    """Keep the invitation link, which is a secret, out of referrers and search engines."""
    response["Referrer-Policy"] = "no-referrer"
    response["X-Robots-Tag"] = "noindex"
    return response
