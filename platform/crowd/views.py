import re
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.limits import guessed_too_often, too_many, too_often
from crowd import practice, refusals, services
from crowd.models import Assignment, Participation
from crowd.queries import participation_by_resume_code, participation_of
from crowd.refusals import EntryRefusedError
from crowd.services import PanelId
from crowd.sessions import remember, session_of
from crowd.work import is_full, may_become_free, work_of
from evaluation.questions import Answer, Question
from questions.resolving import question_set
from studies.asks import About
from studies.models import Ask, Study

# Parameters in which panels name their worker: Prolific, MTurk, and two generic ones.
PANEL_PARAMETERS = ("PROLIFIC_PID", "workerId", "participant", "pid")
_PANEL_ID = re.compile(r"[\w.@-]{1,120}")

WRONG_RESUME_CODE = (
    "Nobody in this study has that resume code. Codes look like ABCDE-FGHJK. Check it and try again."
)

WorkerView = Callable[[HttpRequest, Study], HttpResponse]


def worker_page(view: WorkerView) -> Callable[[HttpRequest, str], HttpResponse]:
    """Find the study by its entry code, and show a refusal as a page in plain words."""

    @never_cache
    @wraps(view)
    def page(request: HttpRequest, code: str) -> HttpResponse:
        try:
            study = Study.objects.filter(code=code).exclude(state=Study.State.DRAFT).first()
            if study is None:
                raise refusals.unknown_study()
            work_of(study)
            return view(request, study)
        except EntryRefusedError as refusal:
            return refused(request, refusal)

    return page


def refused(request: HttpRequest, refusal: EntryRefusedError) -> HttpResponse:
    context = {"title": refusal.title, "say": refusal.say, "cure": refusal.cure}
    return render(request, "crowd/message.html", context, status=refusal.status)


def current_participation(request: HttpRequest, study: Study) -> Participation:
    participation = participation_of(session_of(request.COOKIES), study)
    if participation is None:
        raise refusals.not_started()
    return participation


def page_of(participation: Participation) -> str:
    """The page where this worker goes on."""
    assignment: Assignment | None = getattr(participation, "assignment", None)
    if assignment is None:
        return "crowd:instructions"
    return "crowd:thanks" if assignment.outcome else work_of(participation.study).go_on


@require_safe
@worker_page
def enter(request: HttpRequest, study: Study) -> HttpResponse:
    participation = participation_of(session_of(request.COOKIES), study)
    if participation and not _is_another(participation, _panel_id(request)):
        return redirect(page_of(participation), code=study.code)
    if study.state != Study.State.OPEN:
        return _welcome(request, study, closed=refusals.not_open().say)
    if is_full(study):
        later = " Some may become free in an hour." if may_become_free(study) else ""
        return _welcome(request, study, closed=f"All places are taken.{later}", closed_status=409)
    return _welcome(request, study)


def _is_another(participation: Participation, panel_id: PanelId | None) -> bool:
    """Whether the link is of somebody else than who used this browser before, as on a shared computer."""
    worker = participation.worker
    return bool(worker.panel_id and panel_id) and panel_id != PanelId(worker.panel, worker.panel_id)


def _welcome(
    request: HttpRequest,
    study: Study,
    *,
    error: str = "",
    resume_error: str = "",
    typed: str = "",
    closed: str = "",
    closed_status: int = 403,
) -> HttpResponse:
    panel_id = _panel_id(request)
    context = {
        "study": study,
        "task": work_of(study),
        "consent": study.consent_versions.last(),
        "closed": closed,
        "panel": f"{panel_id.parameter}={panel_id.value}" if panel_id else "",
        "error": error,
        "resume_error": resume_error,
        "typed": typed,
    }
    status = 422 if error or resume_error else closed_status if closed else 200
    return render(request, "crowd/welcome.html", context, status=status)


def _panel_id(request: HttpRequest) -> PanelId | None:
    """The panel's id from the link, or from the form that carried it along."""
    if request.method == "POST":
        parameter, _, value = request.POST.get("panel", "").partition("=")
    else:
        parameter = next((name for name in PANEL_PARAMETERS if request.GET.get(name)), "")
        value = request.GET.get(parameter, "")
    if parameter in PANEL_PARAMETERS and _PANEL_ID.fullmatch(value):
        return PanelId(parameter, value)
    return None


@require_POST
@worker_page
def consent(request: HttpRequest, study: Study) -> HttpResponse:
    if too_often(request, "consent", rate="300/m"):
        return too_many(request)
    if request.POST.get("agree") != "yes":
        return _welcome(request, study, error="To take part, please tick that you agree.")
    version = study.consent_versions.last()
    if version is None or request.POST.get("consent") != str(version.number):
        return _welcome(
            request, study, error="The text has changed since you opened it. Please read it again."
        )
    known = session_of(request.COOKIES)
    participation = services.consent(
        study, version, known=known, panel_id=_panel_id(request), address=request.META.get("REMOTE_ADDR", "")
    )
    response = redirect(page_of(participation), code=study.code)
    remember(response, participation, known=known)
    return response


@require_POST
@worker_page
def resume(request: HttpRequest, study: Study) -> HttpResponse:
    if guessed_too_often(request, "resume", rate="20/m"):
        return too_many(request)
    typed = request.POST.get("code", "")[:40]
    participation = participation_by_resume_code(typed, study)
    if participation is None:
        return _welcome(request, study, resume_error=WRONG_RESUME_CODE, typed=typed)
    response = redirect(page_of(participation), code=study.code)
    remember(response, participation, known=session_of(request.COOKIES))
    return response


@require_safe
@worker_page
def instructions(request: HttpRequest, study: Study) -> HttpResponse:
    participation, task = current_participation(request, study), work_of(study)
    context = instructions_shown(study) | {
        "resume_code": participation.resume_code,
        "started": hasattr(participation, "assignment"),
        "begin": reverse(task.begin, args=[study.code]),
        "go_on": reverse(task.go_on, args=[study.code]),
        "practice_due": practice.is_due(participation),
    }
    return render(request, task.instructions, context)


def instructions_shown(study: Study) -> dict[str, Any]:
    """What every worker of the study is told before the work begins."""
    return {
        "study": study,
        "asks": [_explained(ask, study.only_language) for ask in study.asked],
        "practice": practice.number_of_examples(study),
    }


# Over the questions of an ask, where a study asks more than once.
_WHEN = {
    About.OWN_TURN: _("About each of your messages"),
    About.PARTNER_TURN: _("Under each reply"),
    About.DIALOGUE: _("At the end, about the whole conversation"),
}


def _explained(ask: Ask, language: str) -> dict[str, Any]:
    asked = question_set(ask.question_set).in_language(language)
    verdicts = [[*asked.asked(asked.check(example.answers))] for example in asked.examples]
    return {
        "about": ask.about,
        "when": _WHEN.get(About(ask.about), ""),
        "required": ask.required,
        "questions": asked.questions,
        "examples": list(zip(asked.examples, map(_in_words, verdicts), strict=True)),
    }


def _in_words(verdicts: list[tuple[Question, Answer | None]]) -> list[tuple[str, str]]:
    """Each question and its answer as workers read them."""
    return [
        (question.wording, "not asked" if answer is None else question.caption_of(answer))
        for question, answer in verdicts
    ]


@require_safe
@worker_page
def thanks(request: HttpRequest, study: Study) -> HttpResponse:
    participation = current_participation(request, study)
    assignment: Assignment | None = getattr(participation, "assignment", None)
    if assignment is None or not assignment.outcome:
        return redirect(page_of(participation), code=study.code)
    context = {
        "study": study,
        "task": work_of(study),
        "completion_code": participation.completion_code,
        "outcome": assignment.outcome,
    }
    return render(request, "crowd/thanks.html", context)
