"""The REST API as a whole: who may call it, and how it says what went wrong."""

from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.security import HttpBearer

from accounts import tokens
from accounts.models import User
from bots.api import router as bots
from chatbots.errors import ChatbotError, ConfigurationError, DuplicateBotError, HostingError


class Token(HttpBearer):
    """A token made on the page Tokens."""

    def authenticate(self, request: HttpRequest, token: str) -> User | None:
        owner = tokens.owner_of(token)
        if owner:
            request.user = owner
        return owner


# No page with its description: that one loads scripts which the Content-Security-Policy refuses.
api = NinjaAPI(title="Turnwise", version="1", docs_url=None, openapi_url="/openapi.json", auth=Token())
api.add_router("", bots)


@api.exception_handler(ChatbotError)
def _chatbot_error(request: HttpRequest, error: ChatbotError) -> HttpResponse:
    body: dict[str, object] = {"error": str(error)}
    if isinstance(error, ConfigurationError):
        body["problems"] = [
            {"field": each.field, "value": each.value, "cure": each.cure} for each in error.problems
        ]
    status = 503 if isinstance(error, HostingError) else 409 if isinstance(error, DuplicateBotError) else 422
    return api.create_response(request, body, status=status)


@api.exception_handler(ValidationError)
def _not_as_described(request: HttpRequest, error: ValidationError) -> HttpResponse:
    problems = [
        {"field": ".".join(map(str, each["loc"][2:] or each["loc"])), "cure": each["msg"]}
        for each in error.errors
    ]
    said = "The request is not as /api/openapi.json describes it."
    return api.create_response(request, {"error": said, "problems": problems}, status=422)


@api.exception_handler(HttpError)
def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    said = {"Cannot parse request body": "The request is not JSON."}.get(error.message, error.message)
    return api.create_response(request, {"error": said}, status=error.status_code)


@api.exception_handler(AuthenticationError)
def _nobody(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    said = "No token, or one that was taken back. Make one on the page Tokens, and send it as a Bearer token."
    return api.create_response(request, {"error": said}, status=401)


@api.exception_handler(Http404)
def _nothing_there(request: HttpRequest, error: Http404) -> HttpResponse:
    said = "There is no such bot, or it is not yours to change. GET /api/bots lists all, each with its name."
    return api.create_response(request, {"error": said}, status=404)


@api.exception_handler(RequestDataTooBig)
def _too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return api.create_response(request, {"error": "The request is too long. Send less at once."}, status=413)
