from collections.abc import Mapping
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from crowd import services as crowd
from dialogues.models import Dialogue, Participant, Turn
from evaluation.questions import Answer, question_set
from labels.queries import dialogues_of, turns_with_labels
from labels.readers import parties, tally, turns_of_both
from studies.queries import studies_of

PER_PAGE = 50


@require_GET
@login_required
def dialogues(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    rows = (
        study.dialogues.select_related("assignment__participation__worker")
        .prefetch_related("participants__bot")
        .annotate(fault_count=Count("faults"))
        .order_by("-started_at", "pk")
    )
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "labels/dialogues.html", {"study": study, "page": page})


@require_GET
@login_required
def transcript(request: HttpRequest, public_id: UUID) -> HttpResponse:
    visible = dialogues_of(request.user).select_related(
        "study", "assignment__participation__worker", "imported_in", "relayed_by"
    )
    dialogue = get_object_or_404(visible.prefetch_related("participants__bot"), public_id=public_id)
    seats = {each.seat: each for each in dialogue.participants.all()}
    faults: dict[int, list[str]] = {}
    for position, kind in dialogue.faults.values_list("position", "kind"):
        faults.setdefault(position, []).append(kind)
    context = {
        "study": dialogue.study,
        "dialogue": dialogue,
        "participation": dialogue.assignment.participation if dialogue.assignment else None,
        "turns": [
            _shown(dialogue, turn, seats[turn.position % 2], faults.pop(turn.position, []))
            for turn in turns_with_labels(dialogue)
        ],
        "unanswered_faults": [kind for kinds in faults.values() for kind in kinds],
    }
    return render(request, "labels/transcript.html", context)


@require_GET
@login_required
def readers(request: HttpRequest, pk: int) -> HttpResponse:
    """Labels of the chatters beside those of readers, who judged the same turns in another study."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    questions = question_set(study.question_set).questions
    turns = turns_of_both(study)
    page = Paginator(turns, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "questions": questions,
        "parties": parties(turns) if study.question_set == "ssa" else [],
        "page": page,
        "rows": [{"turn": turn, "verdicts": turn.verdicts(questions)} for turn in page],
    }
    return render(request, "labels/readers.html", context)


@require_POST
@login_required
def set_aside(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """Set the worker of this conversation aside for the reason given; no reason takes it back."""
    visible = dialogues_of(request.user).select_related("assignment").filter(assignment__isnull=False)
    dialogue = get_object_or_404(visible, public_id=public_id)
    assert dialogue.assignment
    assert request.user.is_authenticated
    crowd.set_aside(
        dialogue.assignment.participation_id, reason=request.POST.get("reason", ""), by=request.user
    )
    return redirect("labels:transcript", public_id=public_id)


def _shown(dialogue: Dialogue, turn: Turn, speaker: Participant, faults: list[str]) -> dict[str, object]:
    labels = list(turn.labels.all())
    is_live = dialogue.origin == Dialogue.Origin.LIVE
    own = [label for label in labels if not hasattr(label, "slot")]
    by_set: dict[str, list[dict[str, Answer]]] = {}
    for label in labels:
        if hasattr(label, "slot"):
            by_set.setdefault(label.question_set, []).append(label.answers)
    return {
        "position": turn.position,
        "speaker": "bot" if speaker.bot else "human",
        "name": "" if is_live else speaker.name or str(speaker.bot),
        "text": turn.text,
        "counted": turn.position >= dialogue.opening_turns,
        "latency_ms": turn.latency_ms,
        "remarks": (turn.remarks or {}).get("texts", ()),
        "answers": _in_words(dialogue.question_set, own[0].answers) if own else None,
        "readers": [row for questions, answers in by_set.items() for row in tally(questions, answers)],
        "faults": faults,
    }


def _in_words(questions: str, answers: Mapping[str, Answer]) -> list[tuple[str, str]]:
    asked = question_set(questions).questions
    return [(each.wording, each.label_of(answers[each.key])) for each in asked if each.key in answers]
