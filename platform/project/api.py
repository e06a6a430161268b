"""The REST API as a whole: who may call it, and how it says what went wrong."""

from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import ValidationError
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
