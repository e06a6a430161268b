"""Pages of a person's own account: overview, e-mail address, sessions, and password reset by mail."""

from typing import Any

from allauth.account.internal.decorators import login_not_required
from allauth.account.models import EmailAddress
from allauth.account.views import EmailView, PasswordResetView
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from turnwise.accounts import second_factor
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import guessed_too_often, too_many, too_often
from turnwise.accounts.mail import mailbox_of
from turnwise.accounts.single_sign_on.buttons import sign_on_buttons


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
