"""The REST API as a whole: authentication, routers and error responses."""

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.parser import Parser
from ninja.security import HttpBearer
from typing_extensions import override

from chatbots.errors import ChatbotError, ConfigurationError, DuplicateBotError, HostingError
from evaluation.questions import DeclarationError
from turnwise.accounts import credentials
from turnwise.accounts.models import User
from turnwise.audits.api import router as audits
from turnwise.bots.api import router as bots
from turnwise.comparisons.sweep_api import router as sweeps
from turnwise.crowd.api import router as running
from turnwise.judging.api import router as queues
from turnwise.questions.api import router as question_sets
from turnwise.reports.api import router as reports
from turnwise.studies.api import router as studies
from turnwise.tasks.urls import routers as of_tasks

UNREAD = "Cannot parse request body"  # as Ninja says it, whatever the parser raised
NO_JSON = "The request is not JSON."


class Token(HttpBearer):
    """A token made on the page Tokens."""

    def authenticate(self, request: HttpRequest, token: str) -> User | None:
        owner = credentials.token_owner(token)
        if owner:
            request.user = owner
        return owner


class StorableJson(Parser):
    """JSON whose texts a database takes."""

    @override
    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        """Parse the body; an error becomes status 400 (`_http_error`)."""
        found = super().parse_body(request)
        _refuse_unstorable(found)
        return found


class UnstorableError(ValueError):
    """A text that no database takes; the message names it."""


def _refuse_unstorable(value: object, where: str = "") -> None:
    if isinstance(value, str):
        if "\x00" in value or any("\ud800" <= character <= "\udfff" for character in value):
            what = f"“{where}” has" if where else "A text has"
            raise UnstorableError(
                f"{what} a null character or half of a character, which cannot be stored. Remove it."
            )
    elif isinstance(value, dict):
        for name, each in value.items():
            _refuse_unstorable(name)
            _refuse_unstorable(each, f"{where}.{name}" if where else str(name))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            _refuse_unstorable(each, f"{where}[{number}]")


# No page with its description: that one loads scripts which the Content-Security-Policy refuses.
api = NinjaAPI(
    title="Turnwise",
    version="1",
    docs_url=None,
    openapi_url="/openapi.json",
    auth=Token(),
    parser=StorableJson(),
)
api.add_router("", bots)
api.add_router("", audits)
api.add_router("", sweeps)
api.add_router("", question_sets)
api.add_router("", studies)
api.add_router("", running)
api.add_router("", queues)
api.add_router("", reports)
for router in of_tasks:
    api.add_router("", router)


@api.exception_handler(ChatbotError)
def _chatbot_error(request: HttpRequest, error: ChatbotError) -> HttpResponse:
    body: dict[str, object] = {"error": str(error)}
    if isinstance(error, ConfigurationError):
        body["problems"] = [
            {"field": each.field, "value": each.value, "cure": each.cure} for each in error.problems
        ]
    status = 503 if isinstance(error, HostingError) else 409 if isinstance(error, DuplicateBotError) else 422
    return api.create_response(request, body, status=status)


@api.exception_handler(DeclarationError)
def _cannot_be_declared(request: HttpRequest, error: DeclarationError) -> HttpResponse:
    problems = [{"field": each.field, "problem": each.problem, "cure": each.cure} for each in error.all]
    return api.create_response(request, {"error": str(error), "problems": problems}, status=422)


@api.exception_handler(ValidationError)
def _not_as_described(request: HttpRequest, error: ValidationError) -> HttpResponse:
    problems = [{"field": _field(each["loc"]), "cure": each["msg"]} for each in error.errors]
    said = "The request is not as /api/openapi.json describes it."
    return api.create_response(request, {"error": said, "problems": problems}, status=422)


def _field(path: Sequence[str | int]) -> str:
    """Path of the field in the request, or `body`, without names of parameters and union branches."""
    return ".".join(str(part) for part in path[2:] if "[" not in str(part)) or str(path[0])


@api.exception_handler(HttpError)
def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    of_text = isinstance(error.__cause__, UnstorableError)
    said = str(error.__cause__) if of_text else {UNREAD: NO_JSON}.get(error.message, error.message)
    return api.create_response(request, {"error": said}, status=error.status_code)


@api.exception_handler(AuthenticationError)
def _nobody(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    said = "No token, or one that was revoked. Make one on the page Tokens, and send it as a Bearer token."
    return api.create_response(request, {"error": said}, status=401)


@api.exception_handler(Http404)
def _nothing_there(request: HttpRequest, error: Http404) -> HttpResponse:
    said = "There is no such thing, or it is not shared with you or not yours to change. "
    if "/studies/" in request.path:
        said += "The code of a study is in its link."
    else:
        listed = "GET /api/question-sets" if "question-sets" in request.path else "GET /api/bots"
        said += f"{listed} lists all that you can see."
    return api.create_response(request, {"error": said}, status=404)


@api.exception_handler(RequestDataTooBig)
def _too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return api.create_response(request, {"error": "The request is too long. Send less at once."}, status=413)


@csrf_exempt
def nothing_there(request: HttpRequest) -> HttpResponse:
    """Answer 404 as JSON at any unknown address below /api/."""
    return _nothing_there(request, Http404())
