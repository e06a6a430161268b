"""Pages for admins about user accounts and the audit log, and joining by an invitation link."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import UserCreationForm
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from turnwise.accounts import audit_log, colleagues, mail, second_factor
from turnwise.accounts import colleagues as services
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import guessed_too_often, too_many, too_often
from turnwise.accounts.models import User

PER_PAGE = 50
View = Callable[..., HttpResponse]


def for_admins(view: View) -> View:
    """Decorate a view for admins only; other users get 404."""

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
    """List all users; a POST adds one and shows the initial password, once."""
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
    """Render the list of users and invitations; `more` has the result of a form."""
    has_factor = second_factor.factor_expression()
    counted = User.objects.annotate(of_studies=Count("studies"), has_factor=has_factor)
    everybody = counted.order_by("-is_active", "username")
    invited = colleagues.open_invitations(timezone.now()).select_related("invited_by")
    context = {
        "page": Paginator(everybody, PER_PAGE).get_page(request.GET.get("page")),
        "invited": invited[: colleagues.MOST_SHOWN],
        "days": colleagues.INVITATION_LIFETIME.days,
        "has_mail": bool(settings.MAIL_FROM),
    }
    return render(request, "accounts/people.html", context | more, status=status)


@never_cache
@require_POST
@for_admins
def change_person(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """Change a user's access or role, or set a new initial password."""
    person, by = get_object_or_404(User, pk=pk), request.user
    what = request.POST.get("what", "")
    try:
        if what in ("let_in", "keep_out"):
            services.set_active(person, active=what == "let_in", by=by)
        elif what in ("make_admin", "make_researcher"):
            services.set_admin(person, admin=what == "make_admin", by=by)
        elif what == "password":
            return people_page(request, made=(person, services.new_password(person, by=by)))
        elif what == "second_factor":
            services.reset_second_factor(person, by=by)
            messages.success(
                request,
                _("The second factor of %(name)s is removed. They sign in with their password alone.")
                % {"name": person},
            )
        else:
            messages.error(request, _("No changes were made: “%(what)s” is not known.") % {"what": what[:20]})
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("accounts:people")


@require_GET
@for_admins
def audit_log_page(request: HttpRequest) -> HttpResponse:
    """Show the audit log, optionally filtered by user name and address."""
    name, about = (request.GET.get(key, "").strip()[:200] for key in ("name", "about"))
    page = Paginator(audit_log.find_events(name=name, about=about), PER_PAGE).get_page(
        request.GET.get("page")
    )
    return render(request, "accounts/audit_log.html", {"page": page, "name": name, "about": about})


class JoinForm(UserCreationForm[User]):
    """Form with the name and password of a person who joins."""

    class Meta:
        model = User
        fields = ("username",)


@never_cache
@require_POST
@for_admins
def invite(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Create an invitation and show its link, once."""
    if too_often(request, "invite", rate="30/h", key="user"):
        return too_many(request)
    whom, is_admin = request.POST.get("whom", "")[:200], request.POST.get("role") == "admin"
    email = request.POST.get("email", "")[:300].strip() if settings.MAIL_FROM else ""
    try:
        secret = colleagues.invite(whom, is_admin=is_admin, by=request.user, email=email)
    except ValidationError as error:
        context = {
            "not_invited": " ".join(error.messages),
            "whom": whom,
            "email": email,
            "invited_as_admin": is_admin,
        }
        return people_page(request, status=422, **context)
    link = request.build_absolute_uri(reverse("accounts:join", args=[secret]))
    mailed = bool(email) and _mail_invitation(request.user, whom, email, link)
    return people_page(
        request, link=link, whom_linked=whom, mailed_to=email if mailed else "", not_mailed_to=email
    )


def _mail_invitation(by: User, whom: str, email: str, link: str) -> bool:
    text = _(
        "Dear %(whom)s,\n\n%(by)s invites you to Turnwise, where chatbots are evaluated. This link lets in "
        "one person, once, within %(days)d days. You choose your own name and password:\n\n%(link)s\n"
    ) % {"whom": whom, "by": by, "days": colleagues.INVITATION_LIFETIME.days, "link": link}
    return mail.send(email, _("Invitation to Turnwise"), text)


@require_POST
@for_admins
def take_back(request: HttpRequest, pk: int) -> HttpResponse:
    if colleagues.revoke_invitation(pk):
        messages.success(request, _("The link no longer lets anybody in."))
    else:
        messages.error(
            request, _("No changes were made: the link had already been used, revoked or had expired.")
        )
    return redirect("accounts:people")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, secret: str) -> HttpResponse:
    """Join by an invitation link: choose a name and a password, and get signed in."""
    if guessed_too_often(request, "join", rate="20/m"):
        return too_many(request)
    form = JoinForm(request.POST if request.method == "POST" else None)
    try:
        invitation = colleagues.invitation_of(secret)
        if request.method == "POST" and not request.user.is_authenticated and form.is_valid():
            person = colleagues.join(secret, form.save(commit=False))
            login(request, person, backend=settings.AUTHENTICATION_BACKENDS[0])
            UserSession.objects.create_from_request(request)
            messages.success(request, _("Welcome. You sign in with this name and password from now on."))
            return _private(redirect("workspace:home"))
    except colleagues.NotInvitedError:
        return _private(render(request, "accounts/join.html", {"refused": True}, status=404))
    context = {"form": form, "invitation": invitation}
    return _private(render(request, "accounts/join.html", context, status=422 if form.is_bound else 200))


def _private(response: HttpResponse) -> HttpResponse:
    """Keep the invitation link, which is a secret, out of referrers and search engines."""
    response["Referrer-Policy"] = "no-referrer"
    response["X-Robots-Tag"] = "noindex"
    return response
