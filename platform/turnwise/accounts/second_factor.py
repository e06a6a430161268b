"""Second factors: who needs one, and what an admin does for a person who lost theirs."""

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.deprecation import MiddlewareMixin

from turnwise.accounts.models import User

FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
# Pages of people who still have to set one up.
OPEN_TO_THEM = frozenset(
    {
        "accounts:account",
        "accounts:password",
        "accounts:sign_out",
        "accounts:sign_in",
        "account_logout",
        "account_reauthenticate",
        "healthz",
        "readyz",
    }
)


def is_required(user: User | AnonymousUser) -> bool:
    """True if this installation demands a second factor of this person."""
    # The setting first: pages of workers are spared the look at the session.
    if settings.SECOND_FACTOR == "optional" or not user.is_authenticated:
        return False
    return bool(settings.SECOND_FACTOR == "everybody" or user.is_superuser)


def has_factor(user: User) -> bool:
    """True if the person has an authenticator app or a passkey."""
    return bool(Authenticator.objects.filter(user=user, type__in=FACTORS).exists())


def factor_expression() -> Exists:
    """Expression: whether a user of the outer query has a second factor."""
    return Exists(Authenticator.objects.filter(user=OuterRef("pk"), type__in=FACTORS))


def remove_factors(user: User) -> None:
    """Remove all factors and recovery codes of a person. Idempotent."""
    Authenticator.objects.filter(user=user).delete()


class RequiredFactorMiddleware(MiddlewareMixin):
    """Redirects people without a required second factor to the page where they set one up.

    Programs with a token are not affected.
    """

    def process_view(self, request: HttpRequest, *_view: object) -> HttpResponse | None:
        name = request.resolver_match.view_name if request.resolver_match else ""
        is_program = request.path.startswith("/api/")  # the API takes no sessions, only tokens
        if name in OPEN_TO_THEM or name.startswith("mfa_") or is_program:
            return None
        if not is_required(request.user) or has_factor(request.user):  # type: ignore[arg-type]  # signed in
            return None
        return redirect("mfa_index")
