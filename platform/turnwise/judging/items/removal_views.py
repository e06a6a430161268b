"""The researcher's page for taking a system out of the queue, and the action that puts it back."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from turnwise.judging.items import removal
from turnwise.judging.views import LIST_PARAMETERS, judging_study
from turnwise.live.list_pages import MOST_TICKED, back_to_list
from turnwise.studies.models import Study


@login_required
def take_out(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what taking a system out would change; by POST, take it out."""
    study, system = _study(request, pk), _system(request)
    try:
        if request.method == "POST":
            items = removal.take_out(study, system)
            message = ngettext(
                "%(system)s is out of the queue: no other worker will judge its %(n)s item. Its judgments "
                "stay.",
                "%(system)s is out of the queue: no other worker will judge its %(n)s items. Their judgments "
                "stay.",
                items,
            )
            messages.success(request, message % {"system": system, "n": f"{items:,}"})
            return redirect("judging:queue", pk=pk)
        found = removal.preview_removal(study, system)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("judging:queue", pk=pk)
    return render(request, "judging/take_out.html", {"study": study, "found": found})


@require_POST
@login_required
def put_back(request: HttpRequest, pk: int) -> HttpResponse:
    study, system = _study(request, pk), _system(request)
    try:
        items = removal.put_back(study, system)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        message = ngettext(
            "%(system)s is in the queue again, with %(n)s item.",
            "%(system)s is in the queue again, with %(n)s items.",
            items,
        )
        messages.success(request, message % {"system": system, "n": f"{items:,}"})
    return redirect("judging:queue", pk=pk)


@require_POST
@login_required
def act_on_items(request: HttpRequest, pk: int) -> HttpResponse:
    """Take the ticked items out of the queue, or put them back."""
    study = _study(request, pk)
    keys = _item_keys(request.POST.getlist("item"))
    try:
        if not keys:
            raise ValidationError(_("No item is ticked. Tick at least one in the list."))
        if len(keys) > MOST_TICKED:
            raise ValidationError(
                _("%(n)d items are ticked. Tick up to %(most)d at once.")
                % {"n": len(keys), "most": MOST_TICKED}
            )
        if request.POST.get("action") == "take_out":
            items = removal.take_out_items(study, keys)
            message = ngettext(
                "%(n)d item is out of the queue. Its judgments stay.",
                "%(n)d items are out of the queue. Their judgments stay.",
                items,
            )
        elif request.POST.get("action") == "put_back":
            items = removal.put_back_items(study, keys)
            message = ngettext(
                "%(n)d item is in the queue again.", "%(n)d items are in the queue again.", items
            )
        else:
            raise ValidationError(_("Choose what to do with the ticked items."))
        unchanged = _("No changes were made: it had already been done, or the items are gold.")
        messages.success(request, message % {"n": items} if items else unchanged)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return back_to_list(request, "judging:items", pk, LIST_PARAMETERS)


def _item_keys(sent: list[str]) -> list[UUID]:
    """Keys of ticked items; what is not a key is ignored."""
    keys = []
    for key in sent:
        try:
            keys.append(UUID(key))
        except ValueError:
            continue
    return keys


def _study(request: HttpRequest, pk: int) -> Study:
    study = judging_study(request, pk)
    if study.rehearsal_of_id:
        raise Http404("The queue of a rehearsal is a copy and cannot be changed.")
    return study


def _system(request: HttpRequest) -> str:
    sent = request.POST if request.method == "POST" else request.GET
    return sent.get("system", "")[:500].replace("\x00", "")
