"""The researcher's page on which the battery of a study is composed, and looked at."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from turnwise.judging import batteries, identity_battery, subjects
from turnwise.judging.asks import sets_of
from turnwise.judging.battery_forms import BatteryForm
from turnwise.judging.models import Battery
from turnwise.judging.queries import first_deck, system_counts
from turnwise.judging.queued import QueuedTask
from turnwise.judging.services import plan_of
from turnwise.studies.models import Study
from turnwise.studies.presets import preset_of
from turnwise.studies.queries import studies_of
from turnwise.studies.tasks import task_of

_WITHOUT_FORM = {"remove", "ours"}


@login_required
def battery(request: HttpRequest, pk: int) -> HttpResponse:
    """What every worker gets, with one battery as it is dealt; changed here until the study opens."""
    study = get_object_or_404(studies_of(request.user), pk=pk, rehearsal_of=None)
    task = task_of(study)
    if not isinstance(task, QueuedTask) or not task.has_batteries:
        raise Http404("The workers of this study get no batteries.")
    stored = batteries.battery_of(study)
    form = BatteryForm(
        request.POST if request.method == "POST" and not _WITHOUT_FORM & {*request.POST} else None,
        instance=stored or _new(study),
        systems=[row.system for row in system_counts(study) if row.items],
        sets=sets_of(study),
    )
    refused: list[str] = []
    if request.method == "POST":
        try:
            if "remove" in request.POST:
                subjects.remove_battery(study)
                messages.success(request, _("Workers get items of the queue, as they come."))
                return redirect("judging:queue", pk=pk)
            if "ours" in request.POST:
                identity_battery.fill(study)
                messages.success(
                    request,
                    _("Eight answers and small talk are in the queue. This is what the first worker gets."),
                )
                return redirect("judging:battery", pk=pk)
            if form.is_valid():
                subjects.save_battery(form.save(commit=False))
                messages.success(request, _("The battery is saved. This is what the first worker gets."))
                return redirect("judging:battery", pk=pk)
        except ValidationError as error:
            if form.is_bound:
                form.add_error(None, error)
            refused = [] if form.is_bound else error.messages
    context = {
        "study": study,
        "form": form,
        "refused": refused,
        "impossible": batteries.why_impossible(study),
        "battery": stored,
        "rules": batteries.rules_in_words(stored) if stored else [],
        "deck": first_deck(study) if stored else [],
        "is_draft": study.state == Study.State.DRAFT,
        "may_have_ours": stored is None and identity_battery.is_for(study),
    }
    return render(request, "judging/battery.html", context, status=200 if request.method == "GET" else 422)


def _new(study: Study) -> Battery:
    """A battery that is not stored yet, as the published protocol of the study composes it."""
    return Battery(plan=plan_of(study), **preset_of(study).battery)
