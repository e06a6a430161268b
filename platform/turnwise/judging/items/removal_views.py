"""The researcher's page for taking a system out of the queue, and the action that puts it back."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from turnwise.judging.items import removal
from turnwise.judging.views import judging_study
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


def _study(request: HttpRequest, pk: int) -> Study:
    study = judging_study(request, pk)
    if study.rehearsal_of_id:
        raise Http404("The queue of a rehearsal is a copy and cannot be changed.")
    return study


def _system(request: HttpRequest) -> str:
    sent = request.POST if request.method == "POST" else request.GET
    return sent.get("system", "")[:500].replace("\x00", "")
