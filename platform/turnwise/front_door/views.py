"""The first page: name, logo and texts of this installation, its demo conversation, and example reports."""

from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from chatbots.errors import ChatbotError
from evaluation.questions import QUESTION_SETS
from turnwise.accounts.limits import TooManyAtOnceError, too_often
from turnwise.accounts.single_sign_on.buttons import sign_on_buttons
from turnwise.accounts.views import SignInForm
from turnwise.bots.trial import UnusableError, json_of
from turnwise.front_door import demo, examples
from turnwise.live.markdown import as_html
from turnwise.publications.public_views import results_context
from turnwise.studies.asks import UNDER_EACH_REPLY

LOGO_TYPES = {".svg": "image/svg+xml", ".png": "image/png", ".webp": "image/webp", ".jpg": "image/jpeg"}
LONGEST_TEXT = 100_000


@dataclass(frozen=True, slots=True)
class Installation:
    """Description of this installation on its first page.

    Attributes:
        name: its own name; "Turnwise" without one.
        organization: who runs it; empty if unknown.
        contact: e-mail address for questions; empty if there is none.
        has_logo: whether it has a logo of its own.
        has_imprint: whether it has an imprint.
        has_privacy_notice: whether it says what it does with personal data.
        version: of Turnwise.
    """

    name: str
    organization: str
    contact: str
    has_logo: bool
    has_imprint: bool
    has_privacy_notice: bool
    version: str


def describe() -> Installation:
    return Installation(
        name=settings.INSTALLATION_NAME or "Turnwise",
        organization=settings.ORGANIZATION,
        contact=settings.CONTACT,
        has_logo=logo_file() is not None,
        has_imprint=settings.IMPRINT is not None,
        has_privacy_notice=settings.PRIVACY_NOTICE is not None,
        version=version("turnwise"),
    )


def logo_file() -> Path | None:
    """The file of the logo; None if there is none, or of a kind that browsers do not show."""
    file: Path | None = settings.LOGO
    return file if file and file.suffix.lower() in LOGO_TYPES and file.is_file() else None


def text_of(file: Path) -> str:
    """A text of the operator, in Markdown. Read each time, so that a change needs no restart."""
    with file.open(encoding="utf-8", errors="replace") as text:
        return text.read(LONGEST_TEXT)


@never_cache  # it has a form with a token
@require_safe
def front_page(request: HttpRequest) -> HttpResponse:
    """Say what this installation is to people who are not signed in; others go on to Home."""
    if request.user.is_authenticated:
        return redirect("workspace:home")
    form = SignInForm(request)
    form.fields["username"].widget.attrs.pop("autofocus")  # a phone would scroll past what the page says
    asked = QUESTION_SETS[UNDER_EACH_REPLY.question_set].questions
    context = {
        "installation": describe(),
        "form": form,
        "sign_on_buttons": sign_on_buttons(),
        "demo_bot": demo.demo_bot(),
        "most_messages": demo.MOST_MESSAGES,
        "max_chars": demo.LONGEST_MESSAGE,
        "questions": [{"key": each.key, "wording": each.wording} for each in asked],
    }
    return render(request, "front_door/front_page.html", context)


@require_POST
def demo_reply(request: HttpRequest) -> JsonResponse:
    """Get one reply in the demo conversation; nothing is stored."""
    bot = demo.demo_bot()
    if bot is None:
        return JsonResponse({"error": _("This installation has no demo conversation.")}, status=404)
    if too_often(request, "demo", rate=demo.RATE):
        return JsonResponse(
            {"error": _("There were many messages from your network. Wait a minute.")}, status=429
        )
    try:
        return JsonResponse({"text": demo.reply(bot, demo.context_of(json_of(request)))})
    except TooManyAtOnceError:
        return JsonResponse(
            {"error": _("Others are trying the demo just now. Wait a few seconds.")}, status=429
        )
    except UnusableError as error:
        return JsonResponse({"error": str(error)}, status=422)
    except ChatbotError:
        # Its words may name hosts and settings, which are not for everybody.
        return JsonResponse({"error": _("The chatbot did not answer. Send it again.")}, status=503)


@require_safe
def example_reports(request: HttpRequest) -> HttpResponse:
    """List the example reports, which are made from rehearsals."""
    rows = [(each, examples.load(each.key)) for each in examples.EXAMPLES]
    return _cached_by_browsers(render(request, "front_door/examples.html", {"rows": rows}))


@require_safe
def example_report(request: HttpRequest, key: str) -> HttpResponse:
    """Show an example report as a published report is shown, with what was injected."""
    kind = next((each for each in examples.EXAMPLES if each.key == key), None)
    if kind is None:
        raise Http404("There is no such example. /examples/ lists all.")
    found = examples.load(key)
    snapshot = {**found.snapshot, "title": str(kind.title)}
    context = results_context(snapshot, found.charts) | {"kind": kind, "example": found}
    return _cached_by_browsers(render(request, "front_door/example.html", context))


def _cached_by_browsers(response: HttpResponse) -> HttpResponse:
    """Let browsers keep a page that changes only with a new version of Turnwise."""
    response["Cache-Control"] = "public, max-age=3600"
    return response


@require_safe
def logo(request: HttpRequest) -> FileResponse:
    """The installation's logo."""
    path = logo_file()
    if path is None:
        raise Http404("This installation has no logo of its own. Set TURNWISE_LOGO.")
    response = FileResponse(path.open("rb"), content_type=LOGO_TYPES[path.suffix.lower()])
    response["Cache-Control"] = "public, max-age=3600"
    return response


@require_safe
def imprint(request: HttpRequest) -> HttpResponse:
    return _notice(request, settings.IMPRINT, gettext_lazy("Imprint"))


@require_safe
def privacy_notice(request: HttpRequest) -> HttpResponse:
    return _notice(request, settings.PRIVACY_NOTICE, gettext_lazy("Privacy"))


def _notice(request: HttpRequest, file: Path | None, title: Any) -> HttpResponse:
    if file is None:
        raise Http404("This installation has no such text. Set its file: docs/settings.md.")
    context = {"title": title, "text": as_html(text_of(file))}
    return render(request, "front_door/notice.html", context)
