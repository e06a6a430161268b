"""Pages of adjudication, for researchers of a study and for invited adjudicators, who have no account."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from evaluation.questions import AnswersError, Question
from turnwise.accounts.limits import guessed_too_often, too_many, too_often
from turnwise.crowd.models import Invitation
from turnwise.crowd.panels.links import digest_of
from turnwise.experts import disputes, services
from turnwise.experts.disputes import Answers, Judged
from turnwise.experts.expert_views import experts_study
from turnwise.experts.forms import DecisionForm, GoldForm, field_of
from turnwise.experts.models import Adjudication
from turnwise.experts.services import Adjudicator, DecidedMeanwhileError
from turnwise.judging import queries as item_queries
from turnwise.judging.models import Item
from turnwise.judging.views import reading_for
from turnwise.questions.question_sets import describe_answers_error, question_set
from turnwise.studies.models import Study
from turnwise.studies.queries import studies_of
from turnwise.studies.sharing.permissions import Permission, may

PER_PAGE = 50
SESSION = "adjudicates"
"""Key of the session: by id of a study, the hash of the link by which an adjudicator came."""


@require_GET
def enter(request: HttpRequest, secret: str) -> HttpResponse:
    """Admit an invited adjudicator by a personal link."""
    if guessed_too_often(request, "adjudicate", rate="30/m"):
        return too_many(request)
    digest = digest_of(secret[:100])
    invitation = _valid_invitations().filter(digest=digest).first()
    if invitation is None:
        context = {
            "title": _("This link is not valid"),
            "say": _("It was revoked, replaced by a newer one, or not copied completely."),
            "cure": _("Ask the person who gave it to you for a new one."),
        }
        return render(request, "crowd/message.html", context, status=404)
    known = request.session.get(SESSION, {})
    request.session[SESSION] = known | {str(invitation.study_id): digest}
    return redirect("experts:items", pk=invitation.study_id)


def _valid_invitations() -> Any:
    return Invitation.objects.filter(is_adjudicator=True, revoked_at=None)


class _SignInError(Exception):
    """The visitor must sign in first."""


def _study_of(request: HttpRequest, pk: int) -> tuple[Study, Adjudicator]:
    """The study and the person who may decide in it.

    Raises:
        _SignInError: the visitor is neither signed in nor an invited adjudicator.
        Http404: the person may not decide in it, or it has no queue.
    """
    if request.user.is_authenticated and studies_of(request.user, Permission.REVIEW).filter(pk=pk).exists():
        return experts_study(request, pk, Permission.REVIEW), Adjudicator(user=request.user)
    digest = request.session.get(SESSION, {}).get(str(pk))
    invitation = _valid_invitations().filter(study=pk, digest=digest).first() if digest else None
    if invitation is not None:
        return invitation.study, Adjudicator(invitation=invitation)
    if not request.user.is_authenticated:
        raise _SignInError
    raise Http404("There is nothing to decide for you here.")


@require_GET
def items(request: HttpRequest, pk: int) -> HttpResponse:
    """List the items on which raters differ, undecided ones first."""
    try:
        study, adjudicator = _study_of(request, pk)
    except _SignInError:
        return redirect_to_login(request.get_full_path())
    steps = disputes.adjudication_steps(study)
    judged = disputes.judged_items(study, steps) if steps else []
    differing = [each for each in judged if each.differ]
    ready = [each for each in differing if each.is_complete or each.is_decided]
    ready.sort(key=lambda each: each.is_decided)
    decided = sum(each.is_decided for each in ready)
    page = Paginator(ready, PER_PAGE).get_page(request.GET.get("page"))
    texts = _texts([each.item_id for each in page])
    context = {
        "study": study,
        "is_researcher": adjudicator.user is not None,
        "steps": steps,
        "judged": len(judged),
        "differing": len(ready),
        "waiting": len(differing) - len(ready),
        "decided": decided,
        "page": page,
        "rows": [(each, texts.get(each.item_id, ""), _wordings(each)) for each in page],
        "next": next((each for each in ready if not each.is_decided), None),
        "gold_form": _gold_form(request, study)
        if adjudicator.user and decided and may(adjudicator.user, Permission.CHANGE, study)
        else None,
        "is_closed": study.state == Study.State.CLOSED,
    }
    return render(request, "experts/items.html", context)


def _wordings(judged: Judged) -> list[str]:
    return [question_set(judged.ask.question_set).question(key).wording for key in judged.differ]


def _texts(item_ids: list[int]) -> dict[int, str]:
    """Judged text of each item by id; of a context its last turn, of a conversation only its kind."""
    found = Item.objects.filter(pk__in=item_ids).select_related("response", "turn", "context")
    return {item.pk: _text(item) for item in found}


def _text(item: Item) -> str:
    judged = item.response or item.turn
    if judged:
        return judged.text
    return str(item.context.turns[-1]) if item.context else _("A whole conversation")


def _gold_form(request: HttpRequest, study: Study, data: Any = None) -> GoldForm:
    assert request.user.is_authenticated
    return GoldForm(disputes.drafts_for_gold(request.user, study), data)


@require_http_methods(["GET", "HEAD", "POST"])
def item(request: HttpRequest, pk: int, key: UUID) -> HttpResponse:
    """Show an item as raters saw it, with their judgments; by POST, decide or undo a decision."""
    try:
        study, adjudicator = _study_of(request, pk)
    except _SignInError:
        return redirect_to_login(request.get_full_path())
    if request.method == "POST" and too_often(request, "adjudication", rate="300/m"):
        return too_many(request)
    found = get_object_or_404(disputes.items_of_raters(study), key=key)
    steps = disputes.adjudication_steps(study)
    judged = next(iter(disputes.judged_items(study, steps, found)), None) if steps else None
    if request.method != "POST":
        return _item_page(request, study, adjudicator, found, judged)
    form = _decision_form(judged, request.POST)
    if not form.is_valid():
        return _item_page(request, study, adjudicator, found, judged, form, status=422)
    try:
        if "undo" in request.POST:
            services.undo(found, after=form.cleaned_data["after"], by=adjudicator)
            messages.success(request, _("The decision is undone. It stays in the history."))
            return redirect("experts:item", pk=pk, key=key)
        reason, after = form.cleaned_data["reason"], form.cleaned_data["after"]
        services.decide(found, form.answers(), reason=reason, after=after, by=adjudicator)
    except DecidedMeanwhileError:
        judged = next(iter(disputes.judged_items(study, steps, found)), None) if steps else None
        return _item_page(request, study, adjudicator, found, judged, is_late=True, status=409)
    except AnswersError as error:
        # A question that a judgment has opened since the form was built has no field in it.
        name = f"answer-{error.question}"
        form.add_error(name if name in form.fields else None, describe_answers_error(error))
    except ValidationError as error:
        form.add_error("reason" if hasattr(error, "error_dict") else None, " ".join(error.messages))
    else:
        return _after_decision(request, study)
    return _item_page(request, study, adjudicator, found, judged, form, status=422)


def _after_decision(request: HttpRequest, study: Study) -> HttpResponse:
    """Lead to the next item without a decision, or to the list."""
    messages.success(request, _("The decision is saved."))
    steps = disputes.adjudication_steps(study)
    every = disputes.judged_items(study, steps) if steps else []
    following = next((each for each in every if each.open and each.is_complete and not each.is_decided), None)
    if following is None:
        return redirect("experts:items", pk=study.pk)
    return redirect("experts:item", pk=study.pk, key=following.key)


def _decision_form(judged: Judged | None, data: Any = None) -> DecisionForm:
    questions = services.open_questions_of(judged) if judged else []
    decision = judged.decision if judged else None
    known = (decision.answers if decision else None) or {}
    initial = {
        "after": decision.number if decision else 0,
        "reason": decision.reason if decision else "",
    }
    return DecisionForm(data, questions=questions, known=known, initial=initial)


def _item_page(
    request: HttpRequest,
    study: Study,
    adjudicator: Adjudicator,
    found: Item,
    judged: Judged | None,
    form: DecisionForm | None = None,
    *,
    is_late: bool = False,
    status: int = 200,
) -> HttpResponse:
    questions = question_set(found.ask.question_set).questions
    differ = judged.differ if judged else ()
    is_open = study.state in (Study.State.OPEN, Study.State.PAUSED)
    context = {
        "study": study,
        "is_researcher": adjudicator.user is not None,
        "item": found,
        "judged": judged,
        "shown": item_queries.item_for_raters(found),
        "texts": reading_for(study, found),
        "questions": [(each, each.key in differ) for each in questions],
        "raters": [
            (number, [(question.wording, _caption(question, answers)) for question in questions])
            for number, answers in enumerate(judged.answers if judged else (), 1)
        ],
        "may_decide": bool(judged and judged.open and judged.is_complete and is_open),
        "is_open": is_open,
        "form": form or _decision_form(judged),
        "conditions": _conditions(judged),
        "history": [(each, _decided(questions, each)) for each in _history(found)],
        "is_late": is_late,
    }
    return render(request, "experts/item.html", context, status=status)


def _history(item: Item) -> list[Adjudication]:
    return list(item.adjudications.select_related("by", "invitation").order_by("-number"))


def _caption(question: Question, answers: Answers) -> str:
    answer = answers.get(question.key)
    return "" if answer is None else question.caption_of(answer)


def _decided(questions: tuple[Question, ...], entry: Adjudication) -> list[tuple[str, str]]:
    """Wording and answer of each decided question of an entry."""
    given = entry.answers or {}
    return [(each.wording, _caption(each, given)) for each in questions if each.key in given]


def _conditions(judged: Judged | None) -> dict[str, str]:
    """By form field, when a question is asked only after certain answers to another open question."""
    if judged is None:
        return {}
    asked = {each.key: each for each in services.open_questions_of(judged)}
    found = {}
    for question in asked.values():
        condition = question.asked_if
        if condition and condition.question in asked:
            before = asked[condition.question]
            values = " or ".join(f"“{before.caption_of(value)}”" for value in condition.any_of)
            found[field_of(question)] = _("Counts only if you answer “%(before)s” with %(values)s.") % {
                "before": before.wording, "values": values,
            }  # fmt: skip
    return found


@require_POST
@login_required
def make_gold(request: HttpRequest, pk: int) -> HttpResponse:
    """Make the decided items gold items of a draft."""
    study = experts_study(request, pk)
    form = _gold_form(request, study, request.POST)
    if not form.is_valid():
        messages.error(request, _("Choose a draft that asks the same questions. Nothing was changed."))
        return redirect("experts:items", pk=pk)
    target = form.cleaned_data["study"]
    try:
        number = services.make_gold(study, target)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("experts:items", pk=pk)
    messages.success(
        request,
        ngettext(
            "%(n)d decided item is gold in this study.", "%(n)d decided items are gold in this study.", number
        )
        % {"n": number},
    )
    return redirect("judging:gold", pk=target.pk)
