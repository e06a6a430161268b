"""For admins: the people who sign in, and the trail of what they did."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from turnwise.accounts import inviting, trail
from turnwise.accounts import people as services
from turnwise.accounts.models import User
from turnwise.accounts.requests import AuthenticatedHttpRequest

PER_PAGE = 50
View = Callable[..., HttpResponse]


def for_admins(view: View) -> View:
    """To others there is no such page."""

    @login_required
    @wraps(view)
    def only(request: AuthenticatedHttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_superuser:
            raise Http404("Only admins can manage people.")
        return view(request, *args, **kwargs)

    return only


@never_cache
@require_http_methods(["GET", "POST"])
@for_admins
def people(request: HttpRequest) -> HttpResponse:
    """Everybody; whoever is added is shown with their first password in the answer, and never again."""
    name, is_admin = request.POST.get("name", "").strip()[:200], request.POST.get("role") == "admin"
    made: tuple[User, str] | None = None
    refused = ""
    if request.method == "POST":
        try:
            made = services.add_person(name, is_admin=is_admin)
        except ValidationError as error:
            refused = " ".join(error.messages)
    shown = {
        "made": made,
        "refused": refused,
        "name": name if refused else "",
        "as_admin": is_admin and bool(refused),
    }
    return people_page(request, status=422 if refused else 200, **shown)


def people_page(request: HttpRequest, *, status: int = 200, **more: Any) -> HttpResponse:
    """Everybody, and who is invited; `more` says what came of what was sent."""
    everybody = User.objects.annotate(of_studies=Count("studies")).order_by("-is_active", "username")
    invited = inviting.open_ones(timezone.now()).select_related("invited_by")
    shown = {
        "page": Paginator(everybody, PER_PAGE).get_page(request.GET.get("page")),
        "invited": invited[: inviting.MOST_SHOWN],
        "days": inviting.LIFETIME.days,
    }
    return render(request, "accounts/people.html", shown | more, status=status)


@never_cache
@require_POST
@for_admins
def change_person(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """Let them sign in or not, be an admin or not, or give them a password for one time."""
    person, by = get_object_or_404(User, pk=pk), request.user
    what = request.POST.get("what", "")
    try:
        if what in ("let_in", "keep_out"):
            services.set_active(person, active=what == "let_in", by=by)
        elif what in ("make_admin", "make_researcher"):
            services.set_admin(person, admin=what == "make_admin", by=by)
        elif what == "password":
            return people_page(request, made=(person, services.new_password(person, by=by)))
        else:
            messages.error(request, _("No changes were made: “%(what)s” is not known.") % {"what": what[:20]})
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("accounts:people")


@require_GET
@for_admins
def audit_trail(request: HttpRequest) -> HttpResponse:
    """Who did what."""
    name, about = (request.GET.get(key, "").strip()[:200] for key in ("name", "about"))
    page = Paginator(trail.found(name=name, about=about), PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "accounts/trail.html", {"page": page, "name": name, "about": about})
