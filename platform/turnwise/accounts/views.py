from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.contrib.messages.views import SuccessMessageMixin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from turnwise.accounts import credentials
from turnwise.accounts import credentials as api_tokens
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import guessed_too_often, too_many, too_often
from turnwise.accounts.models import ApiToken

# At a name from everywhere together.
ATTEMPTS = "100/m"
# At a name from an address, whatever others do: enough to mistype once, and too few to guess by.
FIRST_ATTEMPTS = "3/h"


class SignIn(LoginView):
    """Sign-in for admins and researchers; the Django admin is sent here too."""

    template_name = "accounts/sign_in.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if guessed_too_often(request, "sign-in", rate="20/m") or _name_too_often(request):
            return too_many(request)
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        response = super().form_valid(form)
        credentials.remember_device(response, form.get_user().get_username())
        return response


def _name_too_often(request: HttpRequest) -> bool:
    """Whether this name was tried too often: in its owner's browser, or else from this address or from all.

    What is refused here does not count anywhere: one address alone locks nobody out of all others. Nor do
    many: the first attempts from an address are taken however often others tried.
    """
    written = request.POST.get("username", "")
    name = credentials.canonical(written)
    if known := credentials.device_of(request, written):
        return guessed_too_often(request, "sign-in-device", rate="10/m", key=lambda *_: f"{known} {name}")
    if guessed_too_often(request, f"sign-in-here {name}", rate="10/m"):
        return True
    is_tried_by_many = guessed_too_often(request, "sign-in-name", rate=ATTEMPTS, key=lambda *_: name)
    return guessed_too_often(request, f"sign-in-first {name}", rate=FIRST_ATTEMPTS) and is_tried_by_many


class ChangePassword(SuccessMessageMixin[PasswordChangeForm], PasswordChangeView):
    """One's own password: the first one of an admin is told at the first start."""

    template_name = "accounts/password.html"
    success_url = reverse_lazy("accounts:password")
    success_message = "Your password is changed. Other browsers in which you were signed in are signed out."

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        if form.user.has_first_password:  # who has just come goes on to what they came for
            self.success_url = reverse_lazy(settings.LOGIN_REDIRECT_URL)
        form.user.has_first_password = False  # saved with the password
        return super().form_valid(form)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if guessed_too_often(request, "password", rate="10/m", key="user"):
            return too_many(request)
        return super().post(request, *args, **kwargs)


def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """One sign-in page for everybody, with its limits on attempts; the admin's own has none."""
    if request.user.is_authenticated:  # but no admin: the sign-in page would send them straight back here
        raise PermissionDenied
    return redirect(reverse("accounts:sign_in", query=request.GET))


@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def tokens(request: AuthenticatedHttpRequest) -> HttpResponse:
    """One's own tokens; a new one is shown in the answer to the form that made it, and never again."""
    user = request.user
    made = ""
    if request.method == "POST":
        if too_often(request, "api-token", rate="20/h", key="user"):
            return too_many(request)
        made = api_tokens.create_token(user, request.POST.get("title", ""))
    context = {"made": made, "tokens": ApiToken.objects.filter(owner=user)}
    return render(request, "accounts/tokens.html", context)


@login_required
@require_POST
def take_back_token(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    if api_tokens.revoke_token(request.user, pk):
        messages.success(
            request, gettext("The token is revoked. Programs that use it are refused from now on.")
        )
    else:
        messages.error(request, gettext("You have no such token. It may already have been revoked."))
    return redirect("accounts:tokens")
