"""Adapters of allauth: sign-up is closed, secrets are encrypted, mail may be off."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.conf import settings
from django.http import HttpRequest

from turnwise.accounts.models import User
from turnwise.live.encryption.ciphers import decrypt, encrypt

NO_ADDRESS = "0.0.0.0"  # of a client that the server does not know, such as at a socket file


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """Rules of accounts with a password."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """False: an admin adds or invites people."""
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        """Address that the rate limits count, which the server has taken from its proxy."""
        return request.META.get("REMOTE_ADDR") or NO_ADDRESS

    def set_password(self, user: User, password: str) -> None:
        """Set a password that the person chose, in place of a one-time password, too."""
        user.has_first_password = False
        super().set_password(user, password)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send a mail about an account, if mail is on."""
        if settings.MAIL_FROM:
            super().send_mail(template_prefix, email, context)

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return "accounts:account"


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth has no types
    """Encrypts keys of authenticator apps and recovery codes."""

    def encrypt(self, text: str) -> str:
        return encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        return decrypt(encrypted_text)

    def get_totp_label(self, user: User) -> str:
        """Name of the account in an authenticator app."""
        return user.get_username()


class SingleSignOnAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """Rules of people whom an identity provider knows."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """True if everybody whom the provider lets in gets an account as a researcher."""
        if sociallogin.provider.id == "saml":
            return bool(settings.SAML and settings.SAML.admits_new_people)
        return bool(settings.OIDC_NEW_PEOPLE)

    def authenticate_by_email(self, sociallogin: SocialLogin) -> tuple[User, str] | None:
        """Find the account whose confirmed address the provider has confirmed, too."""
        for given in sociallogin.email_addresses:
            if given.verified:
                known = EmailAddress.objects.filter(email__iexact=given.email, verified=True)
                found = known.select_related("user").first()
                if found:
                    return found.user, given.email
        return None
