"""Pages of a participation: practice, instructions, leaving, the last page; and helpers of worker pages."""

from collections import Counter
from collections.abc import Callable
from functools import partial, wraps
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
from turnwise.crowd.entry.submitted_answers import receive_answers
from turnwise.crowd.languages import language_of_pages, language_of_questions
from turnwise.crowd.models import CODED, PAID, Assignment, Outcome, Participation
from turnwise.crowd.panels import (
    Arrival,
    ReturnPath,
    arrival_from_link,
    arrival_of_participation,
    load_signed_arrival,
    return_path,
)
from turnwise.crowd.places import ending, re_entry
from turnwise.crowd.queries import participation_of
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.crowd.worker_task import is_full, work_of
from turnwise.questions.question_sets import in_language, question_set
from turnwise.studies.asks import About, By, Moment
from turnwise.studies.conditions.factors import Condition, texts_in
from turnwise.studies.models import Ask, Study

WorkerView = Callable[[HttpRequest, Study], HttpResponse]


def worker_page(view: WorkerView) -> Callable[[HttpRequest, str], HttpResponse]:
    """Wrap a worker view: find the study by its code, set the language, and render refusals as a page."""

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


def return_path_after(request: HttpRequest, study: Study, outcome: Outcome) -> ReturnPath | None:
    """Return path of a refused worker to their panel; None if the panel is not known."""
    try:
        arrival = sent_arrival(request, study)
    except EntryRefusedError:
        arrival = None
    participation = participation_of(session_of(request.COOKIES), study)
    if arrival is None and participation:
        arrival = arrival_of_participation(participation)
    return return_path(arrival, study, outcome) if arrival and arrival.entered_by else None


def sent_arrival(request: HttpRequest, study: Study) -> Arrival | None:
    """Read the arrival from the link or from the form; None for the plain link.

    Raises:
        EntryRefusedError: the link or the form is invalid.
    """
    if request.method != "POST":
        return arrival_from_link(request.GET, study)
    text = request.POST.get("arrival", "")
    return load_signed_arrival(text, study) if text else None


def allow_form_to_panel(
    request: HttpRequest, response: HttpResponse, back: ReturnPath | None
) -> HttpResponse:
    """Allow the page to submit the panel's form to the panel's server."""
    if back is None or back.fields is None:
        return response
    host = "https://" + (urlsplit(back.address).hostname or "")
    csp_update({"form-action": [host]})(lambda _request: response)(request)  # sets it on the response
    return response


def current_participation(request: HttpRequest, study: Study) -> Participation:
    participation = participation_of(session_of(request.COOKIES), study)
    if participation is None:
        raise refusals.not_started()
    return participation


def page_of(participation: Participation) -> str:
    """URL name of the page where this worker continues."""
    assignment: Assignment | None = getattr(participation, "assignment", None)
    if assignment is None:
        return "crowd:instructions"
    return "crowd:thanks" if assignment.outcome else work_of(participation.study).go_on


@require_safe
@worker_page
def place_gone(request: HttpRequest, study: Study) -> HttpResponse:
    """Tell the worker that others took the place before the first message."""
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
    context = instructions_context(study, participation.condition) | {
        "resume_code": participation.resume_code,
        "own_link": participation.data_link,
        "started": hasattr(participation, "assignment"),
        "begin": reverse(task.begin, args=[study.code]),
        "go_on": reverse(task.go_on, args=[study.code]),
        "practice_due": practice.is_due(participation),
    }
    return render(request, task.instructions, context)


def instructions_context(study: Study, condition: Condition) -> dict[str, Any]:
    """Context of the instructions that is the same for all workers of the study in this condition."""
    language = language_of_questions(study)
    return {
        "study": study,
        "further_texts": texts_in(study.factors, condition),
        "asks": _number_headings(_merge_asks([_describe_ask(ask, language) for ask in study.work_asks])),
        "practice": practice.number_of_examples(study),
        "asked_before": _has_questionnaire(study, Moment.BEFORE_WORK),
        "asked_after": _has_questionnaire(study, Moment.AFTER_WORK),
    }


def _has_questionnaire(study: Study, moment: Moment) -> bool:
    return any(ask.moment == moment for ask in study.questionnaires)


# Headings above the questions of an ask, in studies with several asks.
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
    questions = in_language(question_set(ask.question_set), language)
    verdicts = [
        [*questions.answered_questions(questions.check(example.answers))] for example in questions.examples
    ]
    return {
        "about": ask.about,
        "by": ask.by,
        "when": (_WHAT if ask.by == By.READERS else _WHEN).get(About(ask.about), ""),
        "required": ask.required,
        "questions": questions.questions,
        "examples": list(zip(questions.examples, map(_question_answer_pairs, verdicts), strict=True)),
    }


def _merge_asks(asks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge the chatters' asks about the same subject, as the page shows them together."""
    merged: list[dict[str, Any]] = []
    for ask in asks:
        same = [each for each in merged if all(each[key] == ask[key] for key in ("by", "about", "required"))]
        if same and ask["by"] == By.TALKERS:
            same[0]["questions"] = [*same[0]["questions"], *ask["questions"]]
            same[0]["examples"] = [*same[0]["examples"], *ask["examples"]]
        else:
            merged.append(ask)
    return merged


def _number_headings(asks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Number the readers' asks that have the same heading.

    The numbers are no order: batches begin with a random ask.
    """
    totals, seen = Counter(ask["when"] for ask in asks), Counter[str]()
    for ask in asks:
        heading = ask["when"]
        seen[heading] += 1
        if totals[heading] > 1 and ask["by"] == By.READERS:
            values = {"about": heading, "set": seen[heading], "all": totals[heading]}
            ask["when"] = gettext("%(about)s, set %(set)s of %(all)s") % values
    return asks


def _question_answer_pairs(verdicts: list[tuple[Question, Answer | None]]) -> list[tuple[str, str]]:
    """Wordings of questions and answers as workers read them; optional questions only if answered."""
    return [
        (question.wording, gettext("not asked") if answer is None else question.caption_of(answer))
        for question, answer in verdicts
        if answer is not None or question.required
    ]


# Heading and explanation on the last page, by outcome.
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


def end_page_context(study: Study, outcome: Outcome, back: ReturnPath, *, why: str = "") -> dict[str, Any]:
    """Context of the last page for an outcome; `why` replaces the usual explanation."""
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
    """Leave the study before the work is done, after a confirmation."""
    participation = current_participation(request, study)
    if page_of(participation) == "crowd:thanks":
        return redirect("crowd:thanks", code=study.code)
    if request.method != "POST":
        go_on = reverse(page_of(participation), args=[study.code])
        return render(request, "crowd/leave.html", {"study": study, "go_on": go_on})
    ending.end(participation.pk, Outcome.WITHDRAWN)
    return redirect("crowd:thanks", code=study.code)


HERE = "crowd:practice"


def practice_first(participation: Participation) -> HttpResponse | None:
    """Redirect to the step that is due before the work, such as the practice; None if none is due."""
    if hasattr(participation, "assignment"):
        return None
    first = gates.first(participation) or (HERE if practice.is_due(participation) else "")
    return redirect(first, participation.study.code) if first else None


def begin_work(
    request: HttpRequest, study: Study, begin: Callable[[Participation], HttpResponse]
) -> HttpResponse:
    """Begin the work of a study with `begin`, or redirect to the step that is due before it.

    Raises:
        EntryRefusedError: the address is that of another task, or this browser takes no part in the study.
    """
    assert request.resolver_match
    if work_of(study).begin != request.resolver_match.view_name:
        raise refusals.unknown_study()
    participation = current_participation(request, study)
    return practice_first(participation) or begin(participation)


@require_http_methods(["GET", "HEAD", "POST"])
@worker_page
def practise(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the examples one by one; a POST stores the answers and leads to the work."""
    participation = current_participation(request, study)
    if hasattr(participation, "assignment") or not practice.number_of_examples(study):
        return redirect(page_of(participation), code=study.code)
    if request.method == "POST":
        return _practised(request, study, participation)
    if first := gates.first(participation):
        return redirect(first, code=study.code)
    return _page(request, study, participation)


def _practised(request: HttpRequest, study: Study, participation: Participation) -> HttpResponse:
    return receive_answers(
        request,
        "practice",
        unreadable=gettext("The answers to the examples could not be read."),
        take=partial(practice.record_practice, participation),
        page=partial(_page, request, study, participation),
        # Starting the work is a POST, too.
        then=partial(redirect, work_of(study).begin, code=study.code, preserve_request=True),
    )


def _page(request: HttpRequest, study: Study, participation: Participation, error: str = "") -> HttpResponse:
    context = {
        "study": study,
        "settings": practice.page_settings(study),
        "resume_code": participation.resume_code,
        "may_skip": not practice.is_due(participation),
        "begin": reverse(work_of(study).begin, args=[study.code]),
        "error": error,
    }
    return render(request, "crowd/practice.html", context, status=422 if error else 200)
