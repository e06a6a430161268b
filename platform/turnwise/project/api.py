"""The REST API as a whole: authentication, routers and error responses."""

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.parser import Parser
from typing_extensions import override

from chatbots.errors import ChatbotError, ConfigurationError, DuplicateBotError, HostingError
from evaluation.questions import DeclarationError
from turnwise.acceptance.api import router as acceptance
from turnwise.audits.api import router as audits
from turnwise.bots.api import router as bots
from turnwise.bots.costs_api import router as costs
from turnwise.comparisons.api import router as comparisons
from turnwise.comparisons.sweep_api import router as sweeps
from turnwise.contexts.api import router as context_sets
from turnwise.crowd.api import router as running
from turnwise.crowd.panels.panels_api import router as panels
from turnwise.crowd.pay.payments_api import router as payments
from turnwise.crowd.pay.prolific_api import router as prolific
from turnwise.crowd.running.participants_api import router as participants
from turnwise.experts.api import router as experts
from turnwise.experts.decisions_api import router as item_decisions
from turnwise.exports.api import router as bundles
from turnwise.exports.records_api import router as records
from turnwise.judges.api import router as judges
from turnwise.judges.item_draws.api import router as item_draws
from turnwise.judges.label_imports.labels_api import router as judge_labels
from turnwise.judging.anchors.api import router as anchor_packs
from turnwise.judging.api import router as queues
from turnwise.judging.plan_api import router as plans
from turnwise.judging.readers.readers_api import router as readers
from turnwise.knowledge.api import router as knowledge
from turnwise.languages.api import router as languages
from turnwise.live.problems import InvalidFieldsError, problem, problem_response
from turnwise.privacy.api import router as privacy
from turnwise.privacy.redactions_api import router as redactions
from turnwise.project.rest.description import (
    DescribedApi,
    known_paths,
    lists_above,
    operation_at,
    path_of,
)
from turnwise.project.rest.guard import RefusedError, Token
from turnwise.publications.api import router as publications
from turnwise.quality.api import router as quality
from turnwise.quality.checks_api import router as checks_of_workers
from turnwise.questions.api import router as question_sets
from turnwise.rehearsals.api import router as rehearsals
from turnwise.reports.api import router as reports
from turnwise.responses.api import router as runs
from turnwise.studies.api import router as parts_of_studies
from turnwise.studies.rest.calls import router as studies
from turnwise.studies.rest.lifecycle import router as lifecycle
from turnwise.studies.rest.plans import router as declared_plans
from turnwise.studies.sharing.api import router as sharing
from turnwise.tasks.api import routers as of_tasks
from turnwise.transcripts.imports_api import router as imports
from turnwise.trash.api import router as deletions
from turnwise.webhooks.api import router as webhooks
from turnwise.workspace.groups.api import router as groups

UNREAD = "Cannot parse request body"  # as Ninja says it, whatever the parser raised
NO_JSON = "The request is not JSON."
NO_TOKEN = (
    "No token, or one that has expired or was revoked. Make one on the page Tokens, and send it as a Bearer "
    "token."
)


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
api: DescribedApi = DescribedApi(
    title="Turnwise",
    version="1",
    docs_url=None,
    openapi_url="/openapi.json",
    auth=Token(lambda route, method: operation_at(api, route, method)),
    parser=StorableJson(),
)
api.add_router("", bots)
api.add_router("", costs)
api.add_router("", audits)
api.add_router("", sweeps)
api.add_router("", question_sets)
api.add_router("", context_sets)
api.add_router("", runs)
api.add_router("", studies)
api.add_router("", parts_of_studies)
api.add_router("", lifecycle)
api.add_router("", declared_plans)
api.add_router("", sharing)
api.add_router("", groups)
api.add_router("", running)
api.add_router("", queues)
api.add_router("", plans)
api.add_router("", readers)
api.add_router("", anchor_packs)
api.add_router("", judges)
api.add_router("", judge_labels)
api.add_router("", item_draws)
api.add_router("", quality)
api.add_router("", checks_of_workers)
api.add_router("", reports)
api.add_router("", publications)
api.add_router("", rehearsals)
api.add_router("", bundles)
api.add_router("", records)
api.add_router("", imports)
api.add_router("", acceptance)
api.add_router("", panels)
api.add_router("", participants)
api.add_router("", payments)
api.add_router("", prolific)
api.add_router("", privacy)
api.add_router("", redactions)
api.add_router("", experts)
api.add_router("", item_decisions)
api.add_router("", comparisons)
api.add_router("", knowledge)
api.add_router("", languages)
api.add_router("", deletions)
api.add_router("", webhooks)
for router in of_tasks:
    api.add_router("", router)


@api.exception_handler(ChatbotError)
def _chatbot_error(request: HttpRequest, error: ChatbotError) -> HttpResponse:
    errors: list[dict[str, object]] = []
    if isinstance(error, ConfigurationError):
        errors = [{"field": each.field, "detail": each.cure, "value": each.value} for each in error.problems]
    status = 503 if isinstance(error, HostingError) else 409 if isinstance(error, DuplicateBotError) else 422
    return problem_response(problem(status, str(error), errors))


@api.exception_handler(DeclarationError)
def _cannot_be_declared(request: HttpRequest, error: DeclarationError) -> HttpResponse:
    errors = [{"field": each.field, "detail": f"{each.problem} {each.cure}"} for each in error.all]
    return problem_response(problem(422, str(error), errors))


@api.exception_handler(ValidationError)
def _not_as_described(request: HttpRequest, error: ValidationError) -> HttpResponse:
    # The variants of a union each have an error of the same field.
    by_field: dict[str, list[str]] = {}
    for each in error.errors:
        by_field.setdefault(_field(each["loc"]), []).append(each["msg"])
    errors = [{"field": field, "detail": _joined(says)} for field, says in by_field.items()]
    return problem_response(problem(422, "The request is not as /api/openapi.json describes it.", errors))


def _joined(messages: Sequence[str]) -> str:
    """Join messages about one value; the choice of nothing is no choice worth naming."""
    informative = [each for each in messages if each != "Input should be ''"] or messages
    return ", or ".join(dict.fromkeys(informative))


def _field(path: Sequence[str | int]) -> str:
    """Path of the field in the request, or `body`, without names of parameters and union branches."""
    inner = path[2:] if path[0] == "body" else path[1:]
    return ".".join(str(part) for part in inner if "[" not in str(part)) or str(path[0])


@api.exception_handler(InvalidFieldsError)
def _invalid_fields(request: HttpRequest, error: InvalidFieldsError) -> HttpResponse:
    errors = [{"field": name, "detail": " ".join(says)} for name, says in error.fields.items() if name]
    return problem_response(problem(422, str(error), errors))


@api.exception_handler(HttpError)
def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    of_text = isinstance(error.__cause__, UnstorableError)
    detail = str(error.__cause__) if of_text else {UNREAD: NO_JSON}.get(error.message, error.message)
    return problem_response(problem(error.status_code, detail))


@api.exception_handler(RefusedError)
def _refused(request: HttpRequest, error: RefusedError) -> HttpResponse:
    return error.response


@api.exception_handler(AuthenticationError)
def _nobody(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return problem_response(problem(401, NO_TOKEN))


@api.exception_handler(Http404)
def _nothing_there(request: HttpRequest, error: Http404) -> HttpResponse:
    detail = "There is no such thing, or it is not shared with you or not yours to change."
    if request.path.startswith("/api/studies/"):
        detail += " The code of a study is in its link."
    match = request.resolver_match
    if match and (listed := lists_above(api, path_of(match.route))):
        calls = ", then ".join(f"GET {path}" for path in listed)
        detail += f" {calls} lists all that you can see."
    return problem_response(problem(404, detail))


@api.exception_handler(RequestDataTooBig)
def _too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return problem_response(problem(413, "The request is longer than this call takes. Send less at once."))


@csrf_exempt
def nothing_there(request: HttpRequest) -> HttpResponse:
    """Answer 404 as a problem document at any unknown address below /api/."""
    parts = [part for part in request.path.split("/") if part]
    near = sorted(path for path in known_paths(api) if path.split("/")[2:3] == parts[1:2])
    listed = f" Below /api/{parts[1]} there are: {', '.join(near)}." if near else ""
    return problem_response(
        problem(404, f"There is no address {request.path[:200]}.{listed} /api/openapi.json describes all.")
    )
