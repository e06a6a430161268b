"""Addresses of allauth's views, under the names by which it knows them.

Left out: signing up and whatever else nobody here may do.
"""

from allauth.account import views as account
from allauth.mfa.base import views as factors
from allauth.mfa.recovery_codes import views as codes
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as passkeys
from allauth.socialaccount import views as single_sign_on
from allauth.socialaccount.providers.openid_connect import views as openid
from allauth.usersessions.views import list_usersessions
from django.contrib.auth.views import LogoutView
from django.urls import path, re_path

from turnwise.accounts.single_sign_on import saml_views as saml
from turnwise.accounts.views import ChangePassword, OwnAddress, ResetByMail, SignIn

urlpatterns = [
    path("sign-in/", SignIn.as_view(), name="account_login"),
    path("sign-out/", LogoutView.as_view(), name="account_logout"),
    path("password/", ChangePassword.as_view(), name="account_change_password"),
    path("account/inactive/", account.account_inactive, name="account_inactive"),
    path("account/confirm/", account.reauthenticate, name="account_reauthenticate"),
    path("account/e-mail/", OwnAddress.as_view(), name="account_email"),
    path("account/e-mail/sent/", account.email_verification_sent, name="account_email_verification_sent"),
    re_path(
        r"^account/e-mail/confirm/(?P<key>[-:\w]+)/$", account.confirm_email, name="account_confirm_email"
    ),
    path("password/reset/", ResetByMail.as_view(), name="account_reset_password"),
    path("password/reset/sent/", account.password_reset_done, name="account_reset_password_done"),
    re_path(
        r"^password/reset/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        account.password_reset_from_key,
        name="account_reset_password_from_key",
    ),
    path(
        "password/reset/done/",
        account.password_reset_from_key_done,
        name="account_reset_password_from_key_done",
    ),
    path("account/second-factor/", factors.index, name="mfa_index"),
    path("account/second-factor/sign-in/", factors.authenticate, name="mfa_authenticate"),
    path("account/second-factor/confirm/", factors.reauthenticate, name="mfa_reauthenticate"),
    path("account/second-factor/app/", totp.activate_totp, name="mfa_activate_totp"),
    path("account/second-factor/app/remove/", totp.deactivate_totp, name="mfa_deactivate_totp"),
    path("account/second-factor/codes/", codes.view_recovery_codes, name="mfa_view_recovery_codes"),
    path(
        "account/second-factor/codes/new/", codes.generate_recovery_codes, name="mfa_generate_recovery_codes"
    ),
    path(
        "account/second-factor/codes/file/", codes.download_recovery_codes, name="mfa_download_recovery_codes"
    ),
    path("account/passkeys/", passkeys.list_webauthn, name="mfa_list_webauthn"),
    path("account/passkeys/new/", passkeys.add_webauthn, name="mfa_add_webauthn"),
    path("account/passkeys/sign-in/", passkeys.login_webauthn, name="mfa_login_webauthn"),
    path("account/passkeys/confirm/", passkeys.reauthenticate_webauthn, name="mfa_reauthenticate_webauthn"),
    path("account/passkeys/<int:pk>/remove/", passkeys.remove_webauthn, name="mfa_remove_webauthn"),
    path("account/passkeys/<int:pk>/", passkeys.edit_webauthn, name="mfa_edit_webauthn"),
    path("account/sessions/", list_usersessions, name="usersessions_list"),
    path("account/sign-on/", single_sign_on.connections, name="socialaccount_connections"),
    path("account/sign-on/new/", single_sign_on.signup, name="socialaccount_signup"),
    path("account/sign-on/cancelled/", single_sign_on.login_cancelled, name="socialaccount_login_cancelled"),
    path("account/sign-on/error/", single_sign_on.login_error, name="socialaccount_login_error"),
    path("account/sign-on/<str:provider_id>/", openid.login, name="openid_connect_login"),
    path("account/sign-on/<str:provider_id>/callback/", openid.callback, name="openid_connect_callback"),
    path("account/saml/<str:organization_slug>/", saml.login, name="saml_login"),
    path("account/saml/<str:organization_slug>/acs/", saml.acs, name="saml_acs"),
    path("account/saml/<str:organization_slug>/acs/finish/", saml.finish, name="saml_finish_acs"),
    path("account/saml/<str:organization_slug>/metadata/", saml.metadata, name="saml_metadata"),
]
