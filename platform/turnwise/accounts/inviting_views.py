"""Inviting a colleague by a link, and coming in by one."""

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.forms import UserCreationForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from turnwise.accounts import inviting
from turnwise.accounts.limits import guessed_too_often, too_many, too_often
from turnwise.accounts.models import User
from turnwise.accounts.people_views import for_admins, people_page
from turnwise.accounts.requests import AuthenticatedHttpRequest


class JoinForm(UserCreationForm[User]):
    """Name and password of whoever comes in, by the rules of every password here."""

    class Meta:
        model = User
        fields = ("username",)


@never_cache
@require_POST
@for_admins
def invite(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Make a link, which the answer shows and no page after it."""
    if too_often(request, "invite", rate="30/h", key="user"):
        return too_many(request)
    whom, is_admin = request.POST.get("whom", "")[:200], request.POST.get("role") == "admin"
    try:
        secret = inviting.invite(whom, is_admin=is_admin, by=request.user)
    except ValidationError as error:
        shown = {"not_invited": " ".join(error.messages), "whom": whom, "invited_as_admin": is_admin}
        return people_page(request, status=422, **shown)
    link = request.build_absolute_uri(reverse("accounts:join", args=[secret]))
    return people_page(request, link=link, whom_linked=whom)


@require_POST
@for_admins
def take_back(request: HttpRequest, pk: int) -> HttpResponse:
    if inviting.take_back(pk):
        messages.success(request, _("The link no longer lets anybody in."))
    else:
        messages.error(
            request, _("No changes were made: the link had already been used, revoked or had expired.")
        )
    return redirect("accounts:people")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, secret: str) -> HttpResponse:
    """Choose a name and a password, and be in."""
    if guessed_too_often(request, "join", rate="20/m"):
        return too_many(request)
    form = JoinForm(request.POST if request.method == "POST" else None)
    try:
        invitation = inviting.found(secret)
        if request.method == "POST" and not request.user.is_authenticated and form.is_valid():
            person = inviting.join(secret, form.save(commit=False))
            login(request, person)
            messages.success(request, _("Welcome. You sign in with this name and password from now on."))
            return _private(redirect("workspace:home"))
    except inviting.NotInvitedError:
        return _private(render(request, "accounts/join.html", {"refused": True}, status=404))
    shown = {"form": form, "invitation": invitation}
    return _private(render(request, "accounts/join.html", shown, status=422 if form.is_bound else 200))


def _private(response: HttpResponse) -> HttpResponse:
    """The link is a secret as long as it was not used."""
    response["Referrer-Policy"] = "no-referrer"
    response["X-Robots-Tag"] = "noindex"
    return response
