"""Whoever has a password that an admin made chooses their own before they do anything else."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.deprecation import MiddlewareMixin

OPEN_TO_THEM = frozenset({"accounts:password", "accounts:sign_out", "accounts:sign_in"})
# These answer while nobody can be looked up.
OF_NOBODY = frozenset({"healthz", "readyz"})


class FirstPassword(MiddlewareMixin):
    """Leads them to the page where they do."""

    def process_view(self, request: HttpRequest, *_view: object) -> HttpResponse | None:
        name = request.resolver_match.view_name if request.resolver_match else ""
        if name in OF_NOBODY or not getattr(request.user, "has_first_password", False):
            return None
        if name in OPEN_TO_THEM:
            return None
        return redirect("accounts:password")
