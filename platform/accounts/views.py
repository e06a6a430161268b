from typing import Any

from django.contrib.auth.views import LoginView
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from accounts.limits import too_many, too_often


class SignIn(LoginView):
    """Sign-in for admins and researchers; the Django admin is sent here too."""

    template_name = "accounts/sign_in.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        from_here = too_often(request, "sign-in", rate="20/m")
        with_this_name = too_often(request, "sign-in-name", rate="10/m", key="post:username")
        if from_here or with_this_name:
            return too_many(request)
        return super().post(request, *args, **kwargs)


def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """One sign-in page for everybody, with its limits on attempts; the admin's own has none."""
    if request.user.is_authenticated:  # but no admin: the sign-in page would send them straight back here
        raise PermissionDenied
    return redirect(reverse("accounts:sign_in", query=request.GET))
