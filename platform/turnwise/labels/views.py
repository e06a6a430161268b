from collections.abc import Iterable, Mapping
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import Exists, OuterRef
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from evaluation.questions import Answer
from evaluation.text import WITHDRAWN
from turnwise.crowd import ending
from turnwise.crowd.models import Withdrawal
from turnwise.dialogues import material
from turnwise.dialogues.models import Dialogue, Seat, Turn
from turnwise.labels import explorer
from turnwise.labels.explorer import Found, Wanted
from turnwise.labels.forms import WantedForm
from turnwise.labels.models import Label
from turnwise.labels.queries import (
    dialogues_of,
    labels_of_whole,
    operators_of,
    readable_dialogues_of,
    turns_with_labels,
    withdrawn_with,
)
from turnwise.labels.votes import Vote, tally
from turnwise.live.markdown import as_html
from turnwise.questions.resolving import question_set
from turnwise.studies.asks import Party
from turnwise.studies.queries import may_change, readable_studies_of


@require_GET
@login_required
def dialogues(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(readable_studies_of(request.user), pk=pk)
    works_on_it = may_change(request.user, study)
    form = WantedForm(study, request.GET, panel_ids=works_on_it)
    is_valid = form.is_valid()
    found = explorer.found(study, form.wanted, after=_begun(request)) if is_valid else Found()
    shown = {
        "study": study,
        "form": form,
        "found": found,
        "score": form.asked.score,
        "most_counted": explorer.MOST_COUNTED,
        "narrowed_by": _narrowed_by(request.GET),
        "begun": "after" in request.GET,
        "may_change": works_on_it,
        "withdrawals": Withdrawal.objects.filter(participation__study=study),
    }
    return render(request, "labels/dialogues.html", shown, status=200 if is_valid else 422)


def _begun(request: HttpRequest) -> UUID | None:
    """After which conversation the page begins; what names none begins with the newest."""
    try:
        return UUID(request.GET.get("after", ""))
    except ValueError:
        return None


def _narrowed_by(query: QueryDict) -> str:
    """What of an address narrows the list, for the links from it and back."""
    kept = QueryDict(mutable=True)
    for name in WantedForm.base_fields:
        if value := query.get(name):
            kept[name] = value
    return kept.urlencode()


@require_GET
@login_required
def transcript(request: HttpRequest, public_id: UUID) -> HttpResponse:
    if withdrawn := withdrawn_with(request.user, public_id):
        shown = {"study": withdrawn.participation.study, "withdrawal": withdrawn}
        return render(request, "labels/withdrawn.html", shown, status=410)
    visible = readable_dialogues_of(request.user).select_related("study", "imported_in", "relayed_by")
    operated = Exists(Dialogue.objects.filter(pk=OuterRef("pk"), operator_replies__isnull=False))
    rows = visible.prefetch_related(explorer.WHO_TALKED).annotate(was_operated=operated)
    dialogue = get_object_or_404(rows, public_id=public_id)
    study = dialogue.study
    works_on_it = may_change(request.user, study)
    form = WantedForm(study, request.GET, panel_ids=works_on_it)
    newer, older = explorer.neighbours(study, form.wanted if form.is_valid() else Wanted(), dialogue)
    seats = {each.number: each for each in dialogue.seats.all()}
    faults: dict[int, list[str]] = {}
    for position, kind in dialogue.faults.values_list("position", "kind"):
        faults.setdefault(position, []).append(kind)
    wholes, wholes_by_readers = _told(labels_of_whole(dialogue))
    was_operated: bool = dialogue.was_operated  # type: ignore[attr-defined]  # annotated above
    operators = operators_of(dialogue) if works_on_it and was_operated else {}
    context = {
        "study": study,
        "dialogue": dialogue,
        "participation": dialogue.participation,
        "may_change": works_on_it,
        "newer": newer,
        "older": older,
        "narrowed_by": _narrowed_by(request.GET),
        "turns": [
            _shown(dialogue, turn, seats[turn.position % 2], faults.pop(turn.position, []))
            | {"operator": operators.get(turn.position, "")}
            for turn in turns_with_labels(dialogue)
        ],
        "wholes": wholes,
        "wholes_by_readers": wholes_by_readers,
        "materials": [
            {"who": _who(dialogue, seats[number]), "texts": texts}
            for number, texts in material.read_in(dialogue).items()
        ],
        "unanswered_faults": [kind for kinds in faults.values() for kind in kinds],
    }
    return render(request, "labels/transcript.html", context)


@require_POST
@login_required
def exclude(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """Set the worker of this conversation aside for the reason given; no reason takes it back."""
    dialogue = get_object_or_404(dialogues_of(request.user), public_id=public_id)
    participation = dialogue.participation
    if participation is None:
        raise Http404("Nobody of this platform talked in this conversation.")
    assert request.user.is_authenticated
    ending.exclude(participation.pk, reason=request.POST.get("reason", ""), by=request.user)
    query = _narrowed_by(request.GET)
    address = reverse("labels:transcript", args=[public_id])
    return redirect(f"{address}?{query}" if query else address)


def _who(dialogue: Dialogue, seat: Seat) -> str:
    """Who sits there, as the page calls them."""
    if dialogue.participation is None:
        return seat.name or str(seat.bot or seat.worker)
    return _("The chatbot") if seat.bot else _("The worker")


def _shown(dialogue: Dialogue, turn: Turn, speaker: Seat, faults: list[str]) -> dict[str, object]:
    is_of_worker = dialogue.participation is not None
    is_self_play = dialogue.origin == Dialogue.Origin.LIVE and not is_of_worker
    answers, readers = _told(turn.labels.all())
    return {
        "position": turn.position,
        "speaker": "bot" if speaker.bot else "human",
        "name": "" if is_of_worker else _who(dialogue, speaker),
        "text": turn.text,
        "is_withdrawn": turn.text == WITHDRAWN,
        "html": as_html(turn.text) if speaker.bot and dialogue.study.markdown else "",
        "counted": turn.position >= dialogue.opening_turns,
        "is_to_be_labelled": not is_self_play,
        "latency_ms": turn.latency_ms,
        "remarks": (turn.remarks or {}).get("texts", ()),
        "answers": answers,
        "readers": readers,
        "faults": faults,
    }


def _told(labels: Iterable[Label]) -> tuple[list[tuple[str, str]], list[tuple[str, list[Vote]]]]:
    """What whoever talked answered, question by question, and how many readers said what."""
    own: list[tuple[str, str]] = []
    by_set: dict[str, list[dict[str, Answer]]] = {}
    for label in labels:
        if label.party == Party.READER:
            by_set.setdefault(label.question_set, []).append(label.answers)
        else:
            own += _in_words(label.question_set, label.answers)
    return own, [row for questions, answers in by_set.items() for row in tally(questions, answers)]


def _in_words(questions: str, answers: Mapping[str, Answer]) -> list[tuple[str, str]]:
    asked = question_set(questions).questions
    return [(each.wording, each.caption_of(answers[each.key])) for each in asked if each.key in answers]
