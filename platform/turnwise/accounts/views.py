"""Pages to sign in and to reset the password, and of a person's own account: mail, sessions, API tokens."""

from datetime import datetime, timedelta
from typing import Any

from allauth.account.internal.decorators import login_not_required
from allauth.account.internal.flows.login import perform_password_login
from allauth.account.models import EmailAddress, Login
from allauth.account.views import EmailView, PasswordResetView
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, UsernameField
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.contrib.messages.views import SuccessMessageMixin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from turnwise.accounts import credentials, second_factor
from turnwise.accounts import credentials as api_tokens
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import guessed_too_often, too_many, too_often
from turnwise.accounts.mail import mailbox_of
from turnwise.accounts.models import ApiToken, Scope
from turnwise.accounts.sign_in_backends import user_with_mailbox
from turnwise.accounts.single_sign_on.buttons import sign_on_buttons

# Attempts per name from all addresses together.
ATTEMPTS = "100/m"
# Attempts per name and address that are always accepted: enough for typing errors, too few to guess.
FIRST_ATTEMPTS = "3/h"


class SignInForm(AuthenticationForm):
    """Name or confirmed e-mail address, and password."""

    username = UsernameField(
        label=gettext_lazy("Username or e-mail address"), widget=forms.TextInput(attrs={"autofocus": True})
    )


class SignIn(LoginView):
    """Sign-in page of admins and researchers, also for the Django admin."""

    authentication_form = SignInForm
    template_name = "accounts/sign_in.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if guessed_too_often(request, "sign-in", rate="20/m") or _name_too_often(request):
            return too_many(request)
        return super().post(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        more = {"sign_on_buttons": sign_on_buttons(), "has_mail": bool(settings.MAIL_FROM)}
        return super().get_context_data(**kwargs) | more

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Sign in, or ask for the second factor first."""
        user = form.get_user()
        signing_in = Login(user=user, redirect_url=self.get_success_url())
        response: HttpResponse = perform_password_login(
            self.request, {"username": user.get_username()}, signing_in
        )
        credentials.remember_device(response, user.get_username())
        return response


def _name_too_often(request: HttpRequest) -> bool:
    """True if this name was tried too often: in the user's known browser, from this address, or overall.

    Attempts refused for one address do not count for others, so one address cannot lock a user out. The
    first attempts from an address are accepted even if the overall limit is exceeded.
    """
    written = request.POST.get("username", "")
    if owner := user_with_mailbox(written):
        written = owner.get_username()
    name = credentials.canonical(written)
    if device := credentials.device_of(request, written):
        return guessed_too_often(request, "sign-in-device", rate="10/m", key=lambda *_: f"{device} {name}")
    if guessed_too_often(request, f"sign-in-here {name}", rate="10/m"):
        return True
    is_tried_by_many = guessed_too_often(request, "sign-in-name", rate=ATTEMPTS, key=lambda *_: name)
    return guessed_too_often(request, f"sign-in-first {name}", rate=FIRST_ATTEMPTS) and is_tried_by_many


class ChangePassword(SuccessMessageMixin[PasswordChangeForm], PasswordChangeView):
    """Page to change one's password."""

    template_name = "accounts/password.html"
    success_url = reverse_lazy("accounts:password")
    success_message = "Your password is changed. Other browsers in which you were signed in are signed out."

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        if form.user.has_first_password:  # a new user continues to the start page
            self.success_url = reverse_lazy(settings.LOGIN_REDIRECT_URL)
        form.user.has_first_password = False  # saved with the password
        response = super().form_valid(form)
        UserSession.objects.create_from_request(self.request)  # it has another key now
        return response

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if guessed_too_often(request, "password", rate="10/m", key="user"):
            return too_many(request)
        return super().post(request, *args, **kwargs)


def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """Redirect the Django admin to the sign-in page with rate limits; its own page has none."""
    if request.user.is_authenticated:  # not an admin: the sign-in page would redirect back here
        raise PermissionDenied
    return redirect(reverse("accounts:sign_in", query=request.GET))


MOST_REVOKED = 50


class TokenForm(forms.Form):
    """Form of a new token: what it is for, what it may do, and until when."""

    title = forms.CharField(
        label=gettext_lazy("What the token is for"),
        max_length=80,
        help_text=gettext_lazy(
            "So that you later know which one to revoke. For example: script on the GPU server"
        ),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("What it may do"),
        choices=Scope.choices,
        initial=[Scope.READ],
        error_messages={"required": gettext_lazy("Choose at least one.")},
        widget=forms.CheckboxSelectMultiple,
    )
    days = forms.TypedChoiceField(
        label=gettext_lazy("Ends after"),
        coerce=int,
        choices=[
            (7, gettext_lazy("7 days")),
            (90, gettext_lazy("90 days")),
            (365, gettext_lazy("a year")),
            (0, gettext_lazy("never, until you revoke it")),
        ],
        initial=90,
    )

    def expires_at(self) -> datetime | None:
        """From when the token of a valid form is refused; None: never."""
        days: int = self.cleaned_data["days"]
        return timezone.now() + timedelta(days=days) if days else None


@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def tokens(request: AuthenticatedHttpRequest) -> HttpResponse:
    """List the user's tokens; a POST creates one and shows it, once."""
    user = request.user
    made, form = "", TokenForm(request.POST if request.method == "POST" else None)
    if request.method == "POST":
        if too_often(request, "api-token", rate="20/h", key="user"):
            return too_many(request)
        if form.is_valid():
            made = api_tokens.create_token(
                user,
                form.cleaned_data["title"],
                scopes=form.cleaned_data["scopes"],
                expires_at=form.expires_at(),
            )
            form = TokenForm()
    of_user = ApiToken.objects.filter(owner=user)
    context = {
        "made": made,
        "form": form,
        "tokens": of_user.filter(revoked_at=None),
        "revoked": of_user.exclude(revoked_at=None)[:MOST_REVOKED],
    }
    return render(request, "accounts/tokens.html", context, status=422 if form.errors else 200)


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


@never_cache
@login_required
@require_GET
def account(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Overview of a person's account."""
    user = request.user
    factors = Authenticator.objects.filter(user=user)
    codes = factors.filter(type=Authenticator.Type.RECOVERY_CODES).first()
    context = {
        "mailbox": mailbox_of(user),
        "has_mail": bool(settings.MAIL_FROM),
        "has_app": factors.filter(type=Authenticator.Type.TOTP).exists(),
        "passkeys": factors.filter(type=Authenticator.Type.WEBAUTHN).count(),
        "codes": len(RecoveryCodes(codes).get_unused_codes()) if codes else 0,
        "is_required": second_factor.is_required(user),
        "sessions": len(UserSession.objects.purge_and_list(user)),
        "sign_on": " / ".join(button.name for button in sign_on_buttons()),
        "is_connected": SocialAccount.objects.filter(user=user).exists(),
    }
    return render(request, "accounts/account.html", context)


@method_decorator((never_cache, login_required), name="dispatch")
class OwnAddress(EmailView):  # type: ignore[misc]  # allauth has no types
    """Page to change one's e-mail address, which a mail confirms."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        mailed = {"has_mail": bool(settings.MAIL_FROM), "mailbox": mailbox_of(self.request.user)}
        waiting = EmailAddress.objects.filter(user=self.request.user, verified=False).first()
        context: dict[str, Any] = super().get_context_data(**kwargs)
        return context | mailed | {"waiting": waiting}

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if too_often(request, "own-address", rate="20/h", key="user"):
            return too_many(request)
        answer = super().post if settings.MAIL_FROM else self.get  # whose page says that there is no mail
        response: HttpResponse = answer(request, *args, **kwargs)
        return response


@method_decorator((never_cache, login_not_required), name="dispatch")
class ResetByMail(PasswordResetView):  # type: ignore[misc]  # allauth has no types
    """Page on which a person asks for a mail with which to choose a new password."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        return context | {"has_mail": bool(settings.MAIL_FROM)}

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if guessed_too_often(request, "reset", rate="10/m"):
            return too_many(request)
        answer = super().post if settings.MAIL_FROM else self.get  # whose page says that there is no mail
        response: HttpResponse = answer(request, *args, **kwargs)
        return response
