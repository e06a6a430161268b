"""Staff pages to relay a conversation held on another website, turn by turn or pasted."""

from functools import partial

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from evaluation.texts.lengths import MAX_TURN_CHARS
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.dialogues.models import Dialogue
from turnwise.dialogues.queries import relayed_of
from turnwise.studies.queries import studies_of
from turnwise.transcripts import relaying
from turnwise.transcripts.import_attempts import attempt
from turnwise.transcripts.importing import ImportRefusedError
from turnwise.transcripts.relaying import RelayRefusedError, parsed
from turnwise.trash.views import offer_undo

MAX_PASTE = 200_000  # characters
MOST_ROWS = 600
SPARE_ROWS = 2


@require_POST
@login_required
def begin(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    if "was_reset" not in request.POST:
        messages.error(
            request,
            _("Reset the chatbot first, so that it remembers no earlier conversation; then tick the box."),
        )
        return redirect("transcripts:imports", pk=pk)
    try:
        dialogue = relaying.begin(study, system=request.POST.get("system", ""), by=request.user)
    except RelayRefusedError as error:
        messages.error(request, str(error))
        return redirect("transcripts:imports", pk=pk)
    return redirect("transcripts:relay", pk=dialogue.pk)


@require_safe
@login_required
def relay(request: HttpRequest, pk: int) -> HttpResponse:
    return _relay(request, get_object_or_404(relayed_of(request.user), pk=pk))


def _relay(request: HttpRequest, dialogue: Dialogue, *, error: str = "", typed: str = "") -> HttpResponse:
    context = {
        "study": dialogue.study,
        "dialogue": dialogue,
        "system": relaying.system_of(dialogue),
        "turns": dialogue.turn_set.order_by("position"),
        "is_yours": dialogue.turns % 2 == 0,
        "is_full": dialogue.turns >= dialogue.max_turns + dialogue.opening_turns,
        "missing": max(0, relaying.replies_needed(dialogue) - dialogue.bot_turns),
        "needed": relaying.replies_needed(dialogue),
        "max_chars": MAX_TURN_CHARS,
        "max_paste": MAX_PASTE,
        "error": error,
        "typed": typed,
    }
    return render(request, "transcripts/relay.html", context, status=422 if error else 200)


@require_POST
@login_required
def add_turn(request: HttpRequest, pk: int) -> HttpResponse:
    dialogue = get_object_or_404(relayed_of(request.user), pk=pk)
    position, text = request.POST.get("position", ""), request.POST.get("text", "")
    try:
        relaying.add_turn(dialogue.pk, position=int(position) if position.isdecimal() else -1, text=text)
    except RelayRefusedError as error:
        dialogue.refresh_from_db()
        return _relay(request, dialogue, error=str(error), typed=text)
    return redirect("transcripts:relay", pk=pk)


@login_required
def correct(request: HttpRequest, pk: int) -> HttpResponse:
    """All turns in one form. A pasted transcript fills it; nothing is saved before it is sent."""
    dialogue = get_object_or_404(relayed_of(request.user).filter(ended_at=None), pk=pk)
    if request.method != "POST":
        texts = dialogue.turn_set.order_by("position").values_list("text", flat=True)
        return _form(request, dialogue, [(position % 2 == 0, text) for position, text in enumerate(texts)])
    if "paste" in request.POST:
        rows = parsed(request.POST["paste"][:MAX_PASTE])
        return _form(request, dialogue, rows, is_pasted=True)
    rows = _rows(request)
    try:
        relaying.replace_turns(dialogue.pk, rows)
    except RelayRefusedError as error:
        return _form(request, dialogue, rows, error=str(error))
    messages.success(request, _("The turns are saved."))
    return redirect("transcripts:relay", pk=pk)


def _rows(request: HttpRequest) -> list[tuple[bool, str]]:
    speakers, texts = request.POST.getlist("speaker"), request.POST.getlist("text")
    pairs = zip(speakers[:MOST_ROWS], texts[:MOST_ROWS], strict=False)
    return [(speaker == "human", text) for speaker, text in pairs]


def _form(
    request: HttpRequest,
    dialogue: Dialogue,
    rows: list[tuple[bool, str]],
    *,
    is_pasted: bool = False,
    error: str = "",
) -> HttpResponse:
    human_is_next = not rows or not rows[-1][0]
    spare = [(human_is_next == (number % 2 == 0), "") for number in range(SPARE_ROWS)]
    context = {
        "study": dialogue.study,
        "dialogue": dialogue,
        "system": relaying.system_of(dialogue),
        "rows": [*rows, *spare],
        "is_pasted": is_pasted,
        "is_found": bool(rows),
        "max_chars": MAX_TURN_CHARS,
        "error": error,
    }
    return render(request, "transcripts/relay_turns.html", context, status=422 if error else 200)


@require_POST
@login_required
def finish(request: HttpRequest, pk: int) -> HttpResponse:
    dialogue = get_object_or_404(relayed_of(request.user), pk=pk)
    message = "The conversation is finished. Others can judge it now."
    if not attempt(request, partial(relaying.finish, pk), done=message):
        return redirect("transcripts:relay", pk=pk)
    return redirect("transcripts:imports", pk=dialogue.study_id)


@require_POST
@login_required
def discard(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    dialogue = get_object_or_404(relayed_of(request.user), pk=pk)
    try:
        deletion = relaying.discard(pk, by=request.user)
    except ImportRefusedError as error:
        messages.error(request, str(error))
        return redirect("transcripts:relay", pk=pk)
    offer_undo(request, _("The conversation is deleted."), deletion)
    return redirect("transcripts:imports", pk=dialogue.study_id)
