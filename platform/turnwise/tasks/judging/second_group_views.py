"""Pages of a second group of readers: create its study, and compare both groups."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from evaluation.files.writing import csv_text
from turnwise.accounts.limits import too_many, too_often
from turnwise.accounts.models import User
from turnwise.judging.items import subjects
from turnwise.judging.items.subjects import Added
from turnwise.judging.models import JudgingPlan
from turnwise.judging.readers import second_group
from turnwise.studies.models import Study
from turnwise.studies.presets import preset_of
from turnwise.studies.queries import readable_real_studies_of, readable_studies_of, studies_of
from turnwise.studies.services import fields_of_copy, save_study
from turnwise.studies.sharing.permissions import Permission, may
from turnwise.studies.tasks import task_of
from turnwise.tasks.judging.task import Judging

MOST = 5000


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
        min_value=1, max_value=25, initial=5, label=gettext_lazy("Raters for each item")
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=2**31 - 1,
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
    study = _source(request, pk)
    form = DrawForm(request.POST or None, source=study)
    if request.method == "POST" and form.is_valid():
        assert request.user.is_authenticated
        try:
            created, added = _create_study(study, form.cleaned_data, by=request.user)
        except ValidationError as error:
            form.add_error(None, error)
        else:
            message = _(
                "%(n)s items are drawn for a second group. Say what its people agree to and what "
                "they are paid."
            )
            messages.success(request, message % {"n": f"{added.items:,}"})
            return redirect("studies:edit", pk=created.pk)
    is_judging = isinstance(task_of(study), Judging)
    others = readable_real_studies_of(request.user).filter(pk__in=second_group.other_groups_of(study))
    context = {
        "study": study,
        "form": form,
        "is_judging": is_judging,
        "groups": others.filter(
            task=Judging.key, asks__question_set__in={ask.question_set for ask in study.work_asks}
        ).distinct(),
    }
    status = 422 if form.errors else 200
    return render(request, "tasks/judging/second_groups.html", context, status=status)


@transaction.atomic
def _create_study(source: Study, chosen: dict[str, Any], *, by: User) -> tuple[Study, Added]:
    """Create a draft with the same asks and a sample of the items.

    Raises:
        ValidationError: the sample is impossible or empty; nothing was created.
    """
    is_judging = isinstance(task_of(source), Judging)
    consent = source.consent_versions.last()
    fields = fields_of_copy(source) if is_judging else _reading_fields(source)
    title = _("%(title)s, second group") % {"title": source.title[:100]}
    study = save_study(
        Study(**fields | {"title": title[:120], "task": Judging.key}),
        owner=by,
        # Readers consent to something else than chatters.
        consent_text=consent.text if is_judging and consent else "",
        targets={},
        asks=second_group.asks_of_second_group(source),
    )
    subjects.save_plan(JudgingPlan(study=study, raters_per_item=chosen["raters"]))
    language = chosen.get("language") or source.languages[0]
    added = second_group.add_sample(
        study, source, number=chosen["number"], seed=chosen["seed"], language=language
    )
    if not added.items:
        raise ValidationError(
            _("Nothing could be drawn: “%(study)s” has nothing finished yet.") % {"study": source}
        )
    return study, added


def _reading_fields(source: Study) -> dict[str, Any]:
    """Fields of a study whose readers judge the conversations of this one."""
    return {"languages": source.languages, "protocol": preset_of(source).read_as}


@require_GET
@login_required
def both_groups(request: HttpRequest, pk: int, other: int) -> HttpResponse:
    """Show scores of both groups over common items, their differences, and the agreement."""
    if too_often(request, "compare", rate="60/m", key="user"):
        return too_many(request)
    study, second = _both(request, pk, other)
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
    study, second = _both(request, pk, other)
    lines = csv_text(second_group.csv_rows(second_group.compare_groups(study, second)))
    disposition = {"Content-Disposition": f'attachment; filename="turnwise-two-groups-{pk}-{other}.csv"'}
    return HttpResponse(lines, content_type="text/csv; charset=utf-8", headers=disposition)


def _both(request: HttpRequest, pk: int, other: int) -> tuple[Study, Study]:
    """Two different studies that this person may read and that have asks in common."""
    study = get_object_or_404(readable_studies_of(request.user), pk=pk, task=Judging.key)
    second = get_object_or_404(readable_studies_of(request.user), pk=other, task=Judging.key)
    if study == second or not second_group.have_common_asks(study, second):
        raise Http404("These two studies do not ask the same questions about the same items.")
    return study, second


def _source(request: HttpRequest, pk: int) -> Study:
    """A study whose items or conversations a second group can judge."""
    study = get_object_or_404(studies_of(request.user).filter(rehearsal_of=None), pk=pk)
    task = task_of(study)
    if not study.question_set or not (task.has_conversations or isinstance(task, Judging)):
        raise Http404("Nothing in this study can be judged by readers.")
    return study
