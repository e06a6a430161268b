"""The page of a study at Prolific: how it stands there, what is told there, what nobody has heard of."""

from collections import Counter
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_GET, require_POST

from turnwise.crowd import panel_acts
from turnwise.crowd.models import PanelAct, StudyPanel
from turnwise.crowd.panels.prolific_api import (
    NotHeardError,
    NoTokenError,
    ProlificApi,
    RefusedByPanelError,
    Submission,
)
from turnwise.studies.queries import studies_of

PER_PAGE = 50
MOST_PLACES = 100_000
TRANSITIONS = {
    "PUBLISH": gettext_lazy("Published at Prolific."),
    "PAUSE": gettext_lazy("Paused at Prolific: it sends nobody new."),
    "START": gettext_lazy("Prolific sends people again."),
    "STOP": gettext_lazy("Stopped at Prolific."),
}
_UNHEARD = (NoTokenError, RefusedByPanelError, NotHeardError)


def _taken(request: HttpRequest, pk: int) -> StudyPanel:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    taken = study.panels.select_related("study__owner").filter(panel="prolific").exclude(token="").first()
    if taken is None:
        raise Http404("No token for Prolific is set in this study.")
    return taken


@require_GET
@login_required
def prolific(request: HttpRequest, pk: int) -> HttpResponse:
    taken = _taken(request, pk)
    acts = taken.study.panel_acts.select_related("participation")
    shown: dict[str, Any] = {
        "study": taken.study,
        "page": Paginator(acts, PER_PAGE).get_page(request.GET.get("page")),
        "due": list(panel_acts.beyond_approval(taken.study, panel="prolific")),
    }
    try:
        api = ProlificApi(taken)
        shown["theirs"] = api.study()
        if "compare" in request.GET:
            shown["compared"] = _compared(taken, api.submissions())
    except _UNHEARD as error:
        shown["problem"] = str(error)
    return render(request, "crowd/prolific.html", shown)


def _compared(taken: StudyPanel, theirs: list[Submission]) -> dict[str, Any]:
    """Their submissions beside our participations: how many of each state, and who is on one side only."""
    ours = dict(taken.participations.exclude(submission="").values_list("submission", "pseudonym"))
    known = {each.key for each in theirs}
    return {
        "states": sorted(Counter(each.status for each in theirs).items()),
        "only_there": [each for each in theirs if each.key not in ours][:PER_PAGE],
        "only_here": [name for key, name in ours.items() if key not in known][:PER_PAGE],
    }


@require_POST
@login_required
def steer(request: HttpRequest, pk: int) -> HttpResponse:
    """Publish, pause, start or stop the study there, or change its places."""
    taken, action = _taken(request, pk), request.POST.get("action", "")
    try:
        if action == "places":
            places = _places(request.POST.get("places", ""))
            ProlificApi(taken).set_places(places)
            messages.success(request, _("The study has %(n)d places at Prolific.") % {"n": places})
        elif action in TRANSITIONS:
            ProlificApi(taken).transition(action)
            messages.success(request, str(TRANSITIONS[action]))
        else:
            messages.error(request, _("“%(action)s” cannot be done at Prolific.") % {"action": action[:40]})
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    except _UNHEARD as error:
        messages.error(request, str(error))
    return redirect("crowd:prolific", pk=pk)


def _places(text: str) -> int:
    if not text.strip().isdecimal() or not 1 <= len(text.strip()) <= 6 or not 0 < int(text) <= MOST_PLACES:
        raise ValidationError(
            _("“%(text)s” is not a number of places. Write one from 1 to %(most)d.")
            % {"text": text[:20], "most": MOST_PLACES}
        )
    return int(text)


@require_POST
@login_required
def bonuses(request: HttpRequest, pk: int) -> HttpResponse:
    """Have Prolific pay what approving does not."""
    study, name = _taken(request, pk).study, request.user.get_username()
    people, total = panel_acts.pay_bonuses(study, by=name)
    says = ngettext(
        "%(n)d person gets %(total)s in total through Prolific.",
        "%(n)d people get %(total)s in total through Prolific.",
        people,
    ) % {"n": people, "total": f"{total} {study.pay_currency}"}
    messages.success(request, says if people else _("Nobody is owed any more."))
    return redirect("crowd:prolific", pk=pk)


@require_POST
@login_required
def settle(request: HttpRequest, pk: int, act: int) -> HttpResponse:
    """Somebody has looked at Prolific: it was carried out there, or it is to be sent once more."""
    taken = _taken(request, pk)
    own: PanelAct = get_object_or_404(taken.study.panel_acts, pk=act)
    try:
        panel_acts.settle(own, was_done=request.POST.get("was_done") == "yes")
        messages.success(request, _("Noted."))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("crowd:prolific", pk=pk)


@require_POST
@login_required
def write(request: HttpRequest, pk: int, participation: int) -> HttpResponse:
    """Write to somebody over their panel."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    own = get_object_or_404(study.participations.select_related("entered_by", "study"), pk=participation)
    try:
        panel_acts.send_message(own, request.POST.get("text", ""), by=request.user.get_username())
        messages.success(request, _("The message to %(who)s is on its way.") % {"who": own.pseudonym})
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("quality:history", pk=pk, participation=participation)
