from typing import Any

from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django_ratelimit.core import is_ratelimited
from django_ratelimit.decorators import ratelimit


@method_decorator(ratelimit(key="ip", rate="20/m", method="POST", block=False), name="post")
class SignIn(LoginView):
    """Sign-in for admins and researchers; the Django admin is sent here too."""

    template_name = "accounts/sign_in.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        tried_name_too_often = is_ratelimited(
            request, group="sign-in", key="post:username", rate="10/m", method="POST", increment=True
        )
        if getattr(request, "limited", False) or tried_name_too_often:
            return too_many(request)
        return super().post(request, *args, **kwargs)


def too_many(request: HttpRequest) -> HttpResponse:
    context = {
        "title": "Too many attempts",
        "say": "There were too many attempts from here in the last minute.",
        "cure": "Wait a minute and try again.",
    }
    return render(request, "crowd/message.html", context, status=429)
