from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from csp.decorators import csp_update
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, override
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from evaluation.questions import Answer, Question
from turnwise.crowd import refusals
from turnwise.crowd.entry import gates, practice, visits
from turnwise.crowd.entry.sessions import session_of
from turnwise.crowd.languages import language_of_pages, language_of_questions
from turnwise.crowd.models import CODED, PAID, Assignment, Outcome, Participation
from turnwise.crowd.panels import (
    Arrival,
    WayBack,
    arrival_from_link,
    arrival_of_participation,
    load_signed_arrival,
    return_path,
)
from turnwise.crowd.places import ending, re_entry
from turnwise.crowd.queries import participation_of
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.crowd.worker_task import is_full, work_of
from turnwise.questions.question_sets import question_set
from turnwise.studies.asks import About, By, Moment
from turnwise.studies.models import Ask, Study

WorkerView = Callable[[HttpRequest, Study], HttpResponse]


def worker_page(view: WorkerView) -> Callable[[HttpRequest, str], HttpResponse]:
    """Find the study by its entry code, speak its language, and show a refusal as a page in plain words."""

    @never_cache
    @wraps(view)
    def page(request: HttpRequest, code: str) -> HttpResponse:
        study = Study.objects.filter(code=code).exclude(state=Study.State.DRAFT).first()
        with override(language_of_pages(study, request)):
            try:
                if study is None:
                    raise refusals.unknown_study()
                work_of(study)
                return view(request, study)
            except EntryRefusedError as refusal:
                return refused(request, refusal, study)

    return page


def refused(request: HttpRequest, refusal: EntryRefusedError, study: Study | None) -> HttpResponse:
    back = return_path_after(request, study, refusal.outcome) if study and refusal.outcome else None
    context = {
        "study": study,
        "title": refusal.title,
        "say": refusal.say,
        "cure": refusal.cure,
        "back": back,
    }
    if study and request.resolver_match and request.resolver_match.view_name == "crowd:enter":
        context["visit"] = visits.visit_ticket(study, refusal.reason)
    response = render(request, "crowd/message.html", context, status=refusal.status)
    return allow_form_to_panel(request, response, back)


def return_path_after(request: HttpRequest, study: Study, outcome: Outcome) -> WayBack | None:
    """How somebody who was turned away goes back; None if nobody knows where they came from."""
    try:
        arrival = sent_arrival(request, study)
    except EntryRefusedError:
        arrival = None
    own = participation_of(session_of(request.COOKIES), study)
    if arrival is None and own:
        arrival = arrival_of_participation(own)
    return return_path(arrival, study, outcome) if arrival and arrival.entered_by else None


def sent_arrival(request: HttpRequest, study: Study) -> Arrival | None:
    """How somebody came: by the link, or as the form carried it along; None: by the plain link.

    Raises:
        EntryRefusedError: link or form are not as they should be.
    """
    if request.method != "POST":
        return arrival_from_link(request.GET, study)
    text = request.POST.get("arrival", "")
    return load_signed_arrival(text, study) if text else None


def allow_form_to_panel(request: HttpRequest, response: HttpResponse, back: WayBack | None) -> HttpResponse:
    """Let the page send the panel's own form to the panel's server."""
    if back is None or back.fields is None:
        return response
    host = "https://" + (urlsplit(back.address).hostname or "")
    csp_update({"form-action": [host]})(lambda _request: response)(request)  # notes it in the response
    return response


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
def place_gone(request: HttpRequest, study: Study) -> HttpResponse:
    """Their page led here: the place that they had pressed Start for went to others before they began."""
    participation = current_participation(request, study)
    if page_of(participation) != "crowd:instructions":
        return redirect(page_of(participation), code=study.code)
    raise refusals.place_gone(may_start=study.state == Study.State.OPEN and not is_full(study))


@require_safe
@worker_page
def instructions(request: HttpRequest, study: Study) -> HttpResponse:
    participation, task = current_participation(request, study), work_of(study)
    if page_of(participation) == "crowd:thanks":  # the back button leads here
        return redirect("crowd:thanks", code=study.code)
    context = instructions_context(study) | {
        "resume_code": participation.resume_code,
        "own_link": participation.data_link,
        "started": hasattr(participation, "assignment"),
        "begin": reverse(task.begin, args=[study.code]),
        "go_on": reverse(task.go_on, args=[study.code]),
        "practice_due": practice.is_due(participation),
    }
    return render(request, task.instructions, context)


def instructions_context(study: Study) -> dict[str, Any]:
    """What every worker of the study is told before the work begins."""
    language = language_of_questions(study)
    return {
        "study": study,
        "asks": _number_headings(_merge_asks([_describe_ask(ask, language) for ask in study.asked])),
        "practice": practice.number_of_examples(study),
        "asked_before": _has_questionnaire(study, Moment.BEFORE_WORK),
        "asked_after": _has_questionnaire(study, Moment.AFTER_WORK),
    }


def _has_questionnaire(study: Study, moment: Moment) -> bool:
    return any(ask.moment == moment for ask in study.questionnaires)


# Over the questions of an ask, where a study asks more than once.
_WHEN = {
    About.OWN_TURN: _("About each of your messages"),
    About.PARTNER_TURN: _("Under each reply"),
    About.DIALOGUE: _("At the end, about the whole conversation"),
}
_WHAT = {
    About.RESPONSE: _("About a single reply"),
    About.DIALOGUE: _("About a whole conversation"),
    About.CONTEXT: _("About how a conversation begins"),
    About.PAIR: _("About two side by side"),
}


def _describe_ask(ask: Ask, language: str) -> dict[str, Any]:
    asked = question_set(ask.question_set).in_language(language)
    verdicts = [[*asked.answered_questions(asked.check(example.answers))] for example in asked.examples]
    return {
        "about": ask.about,
        "by": ask.by,
        "when": (_WHAT if ask.by == By.READERS else _WHEN).get(About(ask.about), ""),
        "required": ask.required,
        "questions": asked.questions,
        "examples": list(zip(asked.examples, map(_question_answer_pairs, verdicts), strict=True)),
    }


def _merge_asks(explained: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What those who talk answer about the same as one: they meet it so, and count its questions so."""
    found: list[dict[str, Any]] = []
    for ask in explained:
        same = [each for each in found if all(each[key] == ask[key] for key in ("by", "about", "required"))]
        if same and ask["by"] == By.TALKERS:
            same[0]["questions"] = [*same[0]["questions"], *ask["questions"]]
            same[0]["examples"] = [*same[0]["examples"], *ask["examples"]]
        else:
            found.append(ask)
    return found


def _number_headings(explained: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same; where several of readers have one heading, each says which set of questions it is.

    It names no order: with which of them a batch begins is left to chance.
    """
    sets, met = Counter(ask["when"] for ask in explained), Counter[str]()
    for ask in explained:
        heading = ask["when"]
        met[heading] += 1
        if sets[heading] > 1 and ask["by"] == By.READERS:
            which = {"about": heading, "set": met[heading], "all": sets[heading]}
            ask["when"] = gettext("%(about)s, set %(set)s of %(all)s") % which
    return explained


def _question_answer_pairs(verdicts: list[tuple[Question, Answer | None]]) -> list[tuple[str, str]]:
    """Each question and its answer as workers read them; one that may be left out, if it is answered."""
    return [
        (question.wording, gettext("not asked") if answer is None else question.caption_of(answer))
        for question, answer in verdicts
        if answer is not None or question.required
    ]


# What the last page says of each end: its heading, and what became of the work.
_ENDS = {
    Outcome.COMPLETE: (_("Thank you. You are done."), ""),
    Outcome.SCREENED_OUT: (
        _("This study is not for you"),
        _("It needs different people this time. Thank you for coming."),
    ),
    Outcome.STUDY_FULL: (_("All places are taken"), _("Other people were faster. Thank you for coming.")),
    Outcome.BOT_FAILED: (
        _("Thank you. You are done."),
        _("The chatbot broke down. That was not your fault, and it does not change your pay: you are paid in "
          "full."),
    ),
    Outcome.TIMED_OUT: (
        _("Your time is up"),
        _("The work was not finished in time, so it was ended. What you did is saved, and if the study pays, "
          "you are paid for the time you spent."),
    ),
    Outcome.WITHDRAWN: (
        _("You have left the study"),
        _("Your part ended before the work was done, and your place is free for somebody else."),
    ),
    Outcome.PARTNER_LEFT: (
        _("Thank you. You are done."),
        _("The person you talked with has left. That was not your fault, and it does not change your pay: "
          "you are paid in full."),
    ),
    Outcome.NO_PARTNER: (
        _("No partner came"),
        _("You waited, and nobody else came. That was not your fault: you are paid for the time you waited."),
    ),
}  # fmt: skip


@require_safe
@worker_page
def thanks(request: HttpRequest, study: Study) -> HttpResponse:
    participation = current_participation(request, study)
    assignment: Assignment | None = getattr(participation, "assignment", None)
    if assignment is None or not assignment.outcome:
        return redirect(page_of(participation), code=study.code)
    if last := gates.last(participation):
        return redirect(last, code=study.code)
    outcome = Outcome(assignment.outcome)
    own_code = participation.completion_code if outcome in CODED else ""
    back = return_path(arrival_of_participation(participation), study, outcome, own_code)
    context = end_page_context(study, outcome, back, why=gates.why_ended(participation)) | {
        "worker": participation.pseudonym,
        "own_link": participation.data_link,
        "again": re_entry.can_re_enter(participation),
    }
    return allow_form_to_panel(request, render(request, "crowd/thanks.html", context), back)


def end_page_context(study: Study, outcome: Outcome, back: WayBack, *, why: str = "") -> dict[str, Any]:
    """What the last page says of an end to anybody; `why` is said in place of its usual reason."""
    heading, says = _ENDS[outcome]
    return {
        "study": study,
        "heading": heading,
        "says": why or says or work_of(study).saved,
        "is_paid": outcome in PAID,
        "back": back,
    }


@require_http_methods(["GET", "HEAD", "POST"])
@worker_page
def leave(request: HttpRequest, study: Study) -> HttpResponse:
    """Leave before the work is done, after a question whether that is meant."""
    participation = current_participation(request, study)
    if page_of(participation) == "crowd:thanks":
        return redirect("crowd:thanks", code=study.code)
    if request.method != "POST":
        go_on = reverse(page_of(participation), args=[study.code])
        return render(request, "crowd/leave.html", {"study": study, "go_on": go_on})
    ending.end(participation.pk, Outcome.WITHDRAWN)
    return redirect("crowd:thanks", code=study.code)
