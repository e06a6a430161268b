"""Addresses of the pages about accounts."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from turnwise.accounts import people_views
from turnwise.accounts.views import ChangePassword, SignIn, account, take_back_token, tokens

app_name = "accounts"
urlpatterns = [
    path("sign-in/", SignIn.as_view(), name="sign_in"),
    path("sign-out/", LogoutView.as_view(), name="sign_out"),
    path("account/", account, name="account"),
    path("password/", ChangePassword.as_view(), name="password"),
    path("people/", people_views.people, name="people"),
    path("people/<int:pk>/", people_views.change_person, name="change_person"),
    path("people/invite/", people_views.invite, name="invite"),
    path("people/invitations/<int:pk>/take-back/", people_views.take_back, name="take_back_invitation"),
    path("join/<str:secret>/", people_views.join, name="join"),
    path("people/audit-log/", people_views.audit_log_page, name="audit_log"),
    path("tokens/", tokens, name="tokens"),
    path("tokens/<int:pk>/take-back/", take_back_token, name="take_back_token"),
]
