"""The researcher's pages of a judging study: its queue, and its items with their votes."""

from collections.abc import Mapping
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_POST

from evaluation.questions import FIRST, SECOND, Question, Subject
from turnwise.accounts.models import User
from turnwise.crowd.places import ending
from turnwise.judging import queries as item_queries
from turnwise.judging.asks import asks_of_readers, questions_about, subjects_of_asks
from turnwise.judging.batteries.battery_rules import battery_of, why_unfit
from turnwise.judging.forms import (
    ContextsForm,
    ConversationsForm,
    PlanForm,
    ResponsesForm,
    RightForm,
    subjects_of,
)
from turnwise.judging.gold import gold_items
from turnwise.judging.gold.gold_items import Gold
from turnwise.judging.items import item_votes, subjects
from turnwise.judging.items.item_votes import Filter
from turnwise.judging.items.subjects import Added
from turnwise.judging.models import Battery, Item
from turnwise.judging.queue.queued_task import QueuedTask, ask_counts, estimate_queue_cost
from turnwise.judging.queue.rater_session import ReadingText, reading_of_items
from turnwise.judging.queue.services import plan_of
from turnwise.knowledge.reading_sets import Section, parse_pasted
from turnwise.labels.models import Label
from turnwise.live.list_pages import query_choice
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Ask, Study
from turnwise.studies.queries import studies_of
from turnwise.studies.sharing.permissions import Permission, may
from turnwise.studies.tasks import task_of

PER_PAGE = 50
LIST_PARAMETERS = ("ask", "question", "system", "majority", "state", "sort", "page")


@login_required
def queue(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the queue with its progress and its plan, and save a changed plan."""
    study = judging_study(request, pk)
    form = PlanForm(request.POST or None, instance=plan_of(study))
    if request.method == "POST" and form.is_valid():
        subjects.save_plan(form.save(commit=False))
        messages.success(
            request, _("The plan is saved. It applies to every item, and to workers who start from now on.")
        )
        return redirect("judging:queue", pk=pk)
    return _queue_page(request, study, form)


@require_POST
@login_required
def add(request: HttpRequest, pk: int) -> HttpResponse:
    """Add the items that one of the forms selects; existing ones are skipped."""
    study = judging_study(request, pk)
    adding = _forms(request.user, study, request.POST)
    form = adding[_submitted_form(request.POST)]
    if form is None or not form.is_valid():
        return _queue_page(request, study, PlanForm(instance=plan_of(study)), **adding)
    try:
        items = subjects.add_selection(form.selection(study))
    except ValidationError as error:
        form.add_error(None, error)
        return _queue_page(request, study, PlanForm(instance=plan_of(study)), **adding)
    adds_responses = isinstance(form, ResponsesForm)
    others = subjects.count_in_other_languages(study, form.cleaned_data["run"]) if adds_responses else 0
    messages.success(request, _describe_added(Added(items, others)))
    return redirect("judging:queue", pk=pk)


@require_GET
@login_required
def estimate(request: HttpRequest, pk: int) -> HttpResponse:
    """Part of the queue's page: its items and cost with the values of a form that is not saved yet."""
    study = judging_study(request, pk)
    plan, battery = plan_of(study), battery_of(study)
    items = sum(row.items for row in item_queries.system_counts(study))
    anchors = study.items.filter(anchor__isnull=False).count()
    added: Mapping[Ask, int] = {}
    problem = ""
    if "raters_per_item" in request.GET:
        form = PlanForm(request.GET, instance=plan)
        if not form.is_valid():
            return HttpResponse()
        plan = form.save(commit=False)
    else:
        chooser = _forms(request.user, study, request.GET)[_submitted_form(request.GET)]
        if chooser is None or not chooser.is_valid():
            return HttpResponse()
        try:
            added = chooser.selection(study).count_by_ask()
        except ValidationError as error:
            problem = " ".join(error.messages)
    context = {
        "study": study,
        "plan": plan,
        "battery": battery,
        "items": items + sum(added.values()),
        "added": sum(added.values()),
        "added_for": added if len(asks_of_readers(study)) > 1 else {},
        "is_plan": "raters_per_item" in request.GET,
        "problem": problem,
        "cost": estimate_queue_cost(study, plan, battery, items + anchors + sum(added.values())),
    }
    return render(request, "judging/foreseen.html", context)


def _describe_added(added: Added) -> str:
    if added.items:
        sentence = ngettext("%(n)s item added.", "%(n)s items added.", added.items) % {
            "n": f"{added.items:,}"
        }
    else:
        sentence = _(
            "Nothing was added: all of it is already in the queue, or was taken out of it, or there is "
            "nothing yet."
        )
    if not added.of_other_languages:
        return sentence
    left_out = ngettext(
        "%(n)s left out, because the study has no workers for its language.",
        "%(n)s left out, because the study has no workers for their language.",
        added.of_other_languages,
    ) % {"n": f"{added.of_other_languages:,}"}
    return f"{sentence} {left_out}"


_Adding = ResponsesForm | ConversationsForm | ContextsForm


def _submitted_form(sent: QueryDict) -> str:
    """Name of the form that was sent: two have a field of their own, the form of responses has none."""
    form_by_field = {"source": "conversations_form", "version": "contexts_form"}
    return next((form for field, form in form_by_field.items() if field in sent), "responses_form")


def _forms(
    user: User | AnonymousUser, study: Study, sent: QueryDict | None = None
) -> dict[str, _Adding | None]:
    """The forms for adding items that fit the study's questions; the submitted one has its values."""
    assert user.is_authenticated
    about = subjects_of_asks(study)
    given = {} if sent is None else {_submitted_form(sent): sent}
    of_responses = ResponsesForm(given.get("responses_form"), user=user)
    of_conversations = ConversationsForm(given.get("conversations_form"), user=user, study=study)
    of_contexts = ContextsForm(given.get("contexts_form"), user=user)
    return {
        "responses_form": of_responses if Subject.RESPONSE in about else None,
        "conversations_form": of_conversations if subjects_of(study) else None,
        "contexts_form": of_contexts if Subject.CONTEXT in about else None,
    }


def _queue_page(request: HttpRequest, study: Study, plan: PlanForm, **adding: _Adding | None) -> HttpResponse:
    counts, asks = item_queries.system_counts(study), asks_of_readers(study)
    items, stored = sum(row.items for row in counts), plan_of(study) if plan.is_bound else plan.instance
    battery: Battery | None = getattr(stored, "battery", None)
    anchors = study.items.filter(anchor__isnull=False).count()
    context = {
        "study": study,
        "plan_form": plan,
        "plan": stored,
        "cost": estimate_queue_cost(study, stored, battery, items + anchors),
        "filled_at": _filled_at(study),
        "has_batteries": task_of(study).has_batteries,  # type: ignore[attr-defined]  # a QueuedTask
        "has_adjudication": task_of(study).has_adjudication,  # type: ignore[attr-defined]
        "battery": battery,
        "gold": study.items.filter(right_answers__isnull=False).count(),
        "anchors": anchors,
        "has_anchors": task_of(study).has_anchors,  # type: ignore[attr-defined]
        "battery_problem": why_unfit(battery) if battery else "",
        "systems": counts,
        "has_several_asks": len(asks) > 1,
        "by_ask": ask_counts(study) if len(asks) > 1 else [],
        "items": items,
        "may_remove": study.rehearsal_of_id is None,
        "judged": sum(row.judged for row in counts),
        "wanted": sum(row.wanted for row in counts),
        **(adding or _forms(request.user, study)),
    }
    return render(request, "judging/queue.html", context, status=200 if request.method == "GET" else 422)


def _filled_at(study: Study) -> str:
    """Address of the page where items are added; empty: this page."""
    task = task_of(study)
    assert isinstance(task, QueuedTask)
    return reverse(task.filled_at, args=[study.pk]) if task.filled_at else ""


@require_GET
@login_required
def items(request: HttpRequest, pk: int) -> HttpResponse:
    """List the items of an ask with their votes on one question, the most disputed first."""
    study = _study_with_items(request, pk)
    asks = asks_of_readers(study)
    ask = next((each for each in asks if str(each.number) == request.GET.get("ask")), asks[0])
    questions = question_set(ask.question_set)
    chosen = _filter(request, questions.questions)
    question = questions.question(chosen.question)
    page = _number(request.GET.get("page", ""))
    found, total = item_votes.items_with_votes(ask, chosen, limit=PER_PAGE, offset=(page - 1) * PER_PAGE)
    context = {
        "study": study,
        "items": found,
        "pages": Paginator(range(total), PER_PAGE).get_page(page),
        "asks": asks,
        "ask": ask,
        "filter": chosen,
        "questions": questions.questions,
        "question": question,
        "answers": item_votes.majorities_of(question).items(),
        "systems": [row.system for row in item_queries.system_counts(study)],
        "of_contexts": study.items.filter(response__isnull=False).exists(),
        "has_queue": isinstance(task_of(study), QueuedTask),
        "may_change": may(request.user, Permission.CHANGE, study),
        "may_remove": isinstance(task_of(study), QueuedTask)
        and study.rehearsal_of_id is None
        and may(request.user, Permission.CHANGE, study),
        "state": chosen.state,
        "sort": chosen.sort,
        "states": [(key, title, None) for key, (title, _condition) in item_votes.STATES.items()],
        "sorts": [(key, title) for key, (title, _order) in item_votes.SORTS.items()],
        "query": request.GET.urlencode(),
    }
    return render(request, "judging/items.html", context)


def _number(text: str) -> int:
    return min(int(text), 1_000_000) if text.isdecimal() and 0 < len(text) < 8 and int(text) else 1


def _text(sent: str) -> str:
    """Submitted text, shortened and without NUL, which PostgreSQL cannot store."""
    return sent[:500].replace("\x00", "")


def _filter(request: HttpRequest, questions: tuple[Question, ...]) -> Filter:
    """Filters of the query string; unknown values are ignored."""
    question = next((q for q in questions if q.key == request.GET.get("question")), questions[0])
    majority = request.GET.get("majority", "")
    return Filter(
        question=question.key,
        system=_text(request.GET.get("system", "")),
        majority=majority if majority in item_votes.majorities_of(question) else "",
        state=query_choice(request.GET, "state", item_votes.STATES),
        sort=query_choice(request.GET, "sort", item_votes.SORTS, "disputed"),
    )


@require_GET
@login_required
def item(request: HttpRequest, pk: int, key: UUID) -> HttpResponse:
    """Show one item as raters see it, with all their answers."""
    study = _study_with_items(request, pk)
    works_on_it = may(request.user, Permission.CHANGE, study)
    found = get_object_or_404(
        study.items.select_related(
            "ask",
            "turn__dialogue",
            "dialogue",
            "response__context__version__context_set",
            "context__version__context_set",
            "pair__first_response__context",
        ),
        key=key,
    )
    questions = questions_about(found).questions
    sides = item_queries.sides_of(found)
    raters = study.participations.exclude(excluded_reason="")
    reasons = dict(raters.values_list("worker", "excluded_reason"))
    names = dict(study.participations.values_list("worker", "pseudonym"))
    answers = [
        {
            "rater": names.get(label.rater_id, label.rater.pseudonym),
            "excluded": reasons.get(label.rater_id, ""),
            "at": label.changed_at,
            "changes": label.changes,
            "answers": [_format_answer(q, label, sides) for q in questions],
        }
        for label in item_queries.labels_of(found)
    ]
    context = {
        "study": study,
        "item": found,
        "has_several_asks": len(asks_of_readers(study)) > 1,
        "shown": item_queries.item_for_raters(found),
        "system": item_queries.system_of(found),
        "sides": sides,
        "generation": item_queries.generation_of(found),
        "texts": reading_for(study, found),
        "questions": questions,
        "labels": answers,
        "may_change": works_on_it,
        "right_form": _right_form(study, found) if works_on_it else None,
    }
    return render(request, "judging/item.html", context)


def reading_for(study: Study, item: Item) -> list[ReadingText | Section]:
    """All texts that raters of the item could read beside it."""
    of_item = reading_of_items([item.pk]).get(item.pk, []) if plan_of(study).shows_reading else []
    return [*of_item, *(parse_pasted(study.material) if study.material else [])]


def _right_form(study: Study, item: Item) -> RightForm | None:
    """Form for the item's right answers; None where gold items are not possible."""
    if study.rehearsal_of_id or not isinstance(task_of(study), QueuedTask) or battery_of(study):
        return None
    if item.anchor_id:
        return None
    known = Gold(item.right_answers, item.is_instructed) if item.right_answers else None
    return RightForm(questions=gold_items.closed_questions(questions_about(item)), known=known)


def _format_answer(question: Question, label: Label, sides: tuple[str, str]) -> str:
    """Caption of a rater's answer; for the sides of a pair, the system that the rater meant."""
    answer = label.answers.get(question.key)
    if question.is_sided and answer in (FIRST, SECOND):
        return sides[(answer == SECOND) != label.slot.is_swapped]
    return "" if answer is None else question.caption_of(answer)


@require_POST
@login_required
def exclude(request: HttpRequest, pk: int, key: UUID) -> HttpResponse:
    """Exclude a rater of this item for the given reason; an empty reason undoes it."""
    study = _study_with_items(request, pk, Permission.CHANGE)
    found = get_object_or_404(study.items, key=key)
    rater, reason = (_text(request.POST.get(name, "")) for name in ("rater", "reason"))
    participation = get_object_or_404(study.participations, pseudonym=rater)
    assert request.user.is_authenticated
    ending.exclude(participation.pk, reason=reason, by=request.user)
    return redirect("judging:item", pk=pk, key=found.key)


def _study_with_items(request: HttpRequest, pk: int, permission: Permission = Permission.READ) -> Study:
    """A study whose judgments are about items, of a queue or made by the workers' own conversations."""
    study = get_object_or_404(studies_of(request.user, permission), pk=pk)
    if getattr(task_of(study), "read_at", "") != QueuedTask.read_at:
        raise Http404("Nothing is judged side by side or one after the other in this study.")
    return study


def judging_study(request: HttpRequest, pk: int, permission: Permission = Permission.CHANGE) -> Study:
    study = get_object_or_404(studies_of(request.user, permission), pk=pk)
    if not isinstance(task_of(study), QueuedTask):
        raise Http404("This study has no queue: its workers do something other than judging.")
    return study
