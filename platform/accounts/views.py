from typing import Any

from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse

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
