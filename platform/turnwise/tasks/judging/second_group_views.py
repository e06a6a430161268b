"""Pages of a second group of readers: create its study, and compare both groups."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from evaluation.files.writing import csv_text
from turnwise.accounts.limits import too_many, too_often
from turnwise.judging.readers import second_group
from turnwise.studies.models import Study
from turnwise.studies.sharing.permissions import Permission, may
from turnwise.studies.tasks import task_of
from turnwise.tasks.judging.second_groups import (
    MOST,
    MOST_RATERS,
    MOST_SEED,
    compared_studies,
    create_second_group,
    second_groups_of,
    source_study,
)
from turnwise.tasks.judging.task import Judging


class DrawForm(forms.Form):
    """Size of the sample for a second group, and its raters."""

    number = forms.IntegerField(
        min_value=1,
        max_value=MOST,
        initial=100,
        label=gettext_lazy("How many"),
        help_text=gettext_lazy("As many of each system as of any other, as far as there are enough."),
    )
    raters = forms.IntegerField(
        min_value=1, max_value=MOST_RATERS, initial=5, label=gettext_lazy("Raters for each item")
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=MOST_SEED,
        initial=1,
        label=gettext_lazy("Seed"),
        help_text=gettext_lazy("The same seed draws the same ones; another seed, others."),
    )
    language = forms.ChoiceField(label=gettext_lazy("Language"))

    def __init__(self, *args: Any, source: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if isinstance(task_of(source), Judging) or len(source.languages) == 1:
            del self.fields["language"]
        else:
            self.fields["language"].choices = [(each, each) for each in source.languages]  # type: ignore[attr-defined]  # a ChoiceField


@login_required
def second_groups(request: HttpRequest, pk: int) -> HttpResponse:
    """List the second groups of a study, and create one by POST."""
    study = source_study(request.user, pk=pk)
    form = DrawForm(request.POST or None, source=study)
    if request.method == "POST" and form.is_valid():
        assert request.user.is_authenticated
        try:
            created, added = create_second_group(study, **form.cleaned_data, by=request.user)
        except ValidationError as error:
            form.add_error(None, error)
        else:
            message = _(
                "%(n)s items are drawn for a second group. Say what its people agree to and what "
                "they are paid."
            )
            messages.success(request, message % {"n": f"{added.items:,}"})
            return redirect("studies:edit", pk=created.pk)
    context = {
        "study": study,
        "form": form,
        "is_judging": isinstance(task_of(study), Judging),
        "groups": second_groups_of(study, request.user),
    }
    status = 422 if form.errors else 200
    return render(request, "tasks/judging/second_groups.html", context, status=status)


@require_GET
@login_required
def both_groups(request: HttpRequest, pk: int, other: int) -> HttpResponse:
    """Show scores of both groups over common items, their differences, and the agreement."""
    if too_often(request, "compare", rate="60/m", key="user"):
        return too_many(request)
    study, second = compared_studies(request.user, {"pk": pk}, {"pk": other})
    asks = second_group.compare_groups(study, second)
    for score in (score for ask in asks for each in ask.systems for score in each["scores"]):
        score["cells"] = [score[name] for name in ("first", "second", "difference") if name in score]
    context = {
        "study": study,
        "second": second,
        "asks": asks,
        "may_change": may(request.user, Permission.CHANGE, study),
    }
    return render(request, "tasks/judging/both_groups.html", context)


@require_GET
@login_required
def both_groups_csv(request: HttpRequest, pk: int, other: int) -> HttpResponse:
    """Download the numbers of the comparison as CSV."""
    if too_often(request, "compare", rate="60/m", key="user"):
        return too_many(request)
    study, second = compared_studies(request.user, {"pk": pk}, {"pk": other})
    lines = csv_text(second_group.csv_rows(second_group.compare_groups(study, second)))
    disposition = {"Content-Disposition": f'attachment; filename="turnwise-two-groups-{pk}-{other}.csv"'}
    return HttpResponse(lines, content_type="text/csv; charset=utf-8", headers=disposition)
