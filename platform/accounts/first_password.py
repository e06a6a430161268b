"""Whoever has a password that an admin made chooses their own before they do anything else."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.deprecation import MiddlewareMixin

OPEN_TO_THEM = frozenset({"accounts:password", "accounts:sign_out", "accounts:sign_in"})


class FirstPassword(MiddlewareMixin):
    """Leads them to the page where they do."""

    def process_view(self, request: HttpRequest, *_view: object) -> HttpResponse | None:
        if not getattr(request.user, "has_first_password", False):
            return None
        match = request.resolver_match
        if match is not None and match.view_name in OPEN_TO_THEM:
            return None
        return redirect("accounts:password")
