"""The page on which items for people are drawn by a machine judge's uncertainty: preview, draw, undo."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_POST

from evaluation.assisted.drawing import EVEN
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.judges import queries
from turnwise.judges.forms import FurtherForm, ItemDrawForm
from turnwise.judges.item_draws import services as drawing
from turnwise.judging.items import item_draws
from turnwise.judging.items.item_draws import DrawProgress
from turnwise.judging.models import ItemDraw
from turnwise.judging.views import judging_study
from turnwise.studies.models import Ask, Study


@require_GET
@login_required
def draws(request: HttpRequest, pk: int) -> HttpResponse:
    """The draws of a study with their progress, and the form of a new one, with a preview of it."""
    study = _study(request, pk)
    form = ItemDrawForm(drawing.judges_for_draws(study), request.GET or None)
    preview = None
    if form.is_bound and form.is_valid():
        chosen = form.cleaned_data
        try:
            preview = drawing.preview(form.selected_run(), wanted=chosen["items"], strata=chosen["strata"])
        except ValidationError as error:
            form.add_error(None, error)
    return _page(request, study, form, preview)


def _page(
    request: HttpRequest, study: Study, form: ItemDrawForm, preview: drawing.Preview | None, status: int = 200
) -> HttpResponse:
    found = item_draws.progress_of_draws(study)
    context: dict[str, Any] = {
        "study": study,
        "form": form,
        "preview": preview,
        "asks": _by_ask(found),
        "has_several_asks": len(queries.judgeable_asks(study)) > 1,
        "floor": EVEN,
    }
    return render(request, "judges/draws.html", context, status=status)


def _by_ask(found: list[DrawProgress]) -> list[dict[str, Any]]:
    """The draws of each ask, the newest first, with the form that draws more."""
    asks: dict[int, list[DrawProgress]] = {}
    for each in found:
        asks.setdefault(each.draw.ask_id, []).append(each)
    return [
        {"ask": draws[0].draw.ask, "draws": draws, "may_draw": _left(draws) > 0, "further": FurtherForm()}
        for draws in asks.values()
    ]


def _left(draws: list[DrawProgress]) -> int:
    """Number of items that none of these draws of an ask drew."""
    return draws[0].total - sum(each.added for each in draws) - draws[0].begun_before


@require_POST
@login_required
def draw(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """Draw the items that were previewed."""
    study = _study(request, pk)
    form = ItemDrawForm(drawing.judges_for_draws(study), request.POST)
    if not form.is_valid():
        return _page(request, study, form, None, status=422)
    chosen = form.cleaned_data
    try:
        made = drawing.draw(
            form.selected_run(), wanted=chosen["items"], strata=chosen["strata"], by=request.user,
            now=timezone.now(),
        )  # fmt: skip
    except ValidationError as error:
        form.add_error(None, error)
        return _page(request, study, form, None, status=422)
    _say_drawn(request, made)
    return redirect("judges:draws", pk=pk)


@require_POST
@login_required
def draw_further(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    study, form = _study(request, pk), FurtherForm(request.POST)
    try:
        if not form.is_valid():
            raise ValidationError(_("Type how many items to draw in addition, at least 1."))
        made = drawing.draw_further(
            _ask(request, study), further=form.cleaned_data["further"], by=request.user, now=timezone.now()
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        _say_drawn(request, made)
    return redirect("judges:draws", pk=pk)


@require_POST
@login_required
def undo_draw(request: HttpRequest, pk: int) -> HttpResponse:
    study = _study(request, pk)
    try:
        item_draws.undo(_ask(request, study))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, _("The draw is undone."))
    return redirect("judges:draws", pk=pk)


def _say_drawn(request: HttpRequest, made: ItemDraw) -> None:
    drawn = made.rows.filter(is_drawn=True).count()
    message = ngettext(
        "%(n)s item is for people now. The others are left to the judge.",
        "%(n)s items are for people now. The others are left to the judge.",
        drawn,
    )
    messages.success(request, message % {"n": f"{drawn:,}"})


def _study(request: HttpRequest, pk: int) -> Study:
    study = judging_study(request, pk)
    if study.rehearsal_of_id:
        raise Http404("The queue of a rehearsal is a copy and cannot be changed.")
    return study


def _ask(request: HttpRequest, study: Study) -> Ask:
    """The ask whose number was sent.

    Raises:
        ValidationError: the study has none with this number.
    """
    found = next((ask for ask in study.work_asks if str(ask.number) == request.POST.get("ask")), None)
    if found is None:
        raise ValidationError(_("The study has no such questions. Load the page again."))
    return found
