"""The page on which a researcher says what the bots of a study are."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from turnwise.studies.facets import facets_of, parsed, set_facets, written
from turnwise.studies.models import Study
from turnwise.studies.queries import studies_of

EXAMPLE = "architecture=VHRED, data=Reddit"


class FacetsForm(forms.Form):
    """A line for each bot of the study."""

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        titles = dict(study.study_bots.values_list("bot__name", "bot__title"))
        for name, facets in facets_of(study).items():
            self.fields[name] = forms.CharField(
                label=titles[name], required=False, max_length=600, initial=written(facets),
                widget=forms.TextInput(attrs={"placeholder": EXAMPLE, "spellcheck": "false"}),
            )  # fmt: skip

    def clean(self) -> dict[str, Any]:
        for name in list(self.cleaned_data):
            try:
                self.cleaned_data[name] = parsed(self.cleaned_data[name])
            except ValidationError as error:
                self.add_error(name, error)
        return self.cleaned_data


@login_required
def facets(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    form = FacetsForm(request.POST if request.method == "POST" else None, study=study, prefix="bot")
    if request.method == "POST" and form.is_valid():
        try:
            set_facets(study, form.cleaned_data)
            messages.success(request, _("The facets are saved. The report is being updated."))
            return redirect("studies:facets", pk=pk)
        except ValidationError as error:
            form.add_error(None, error)
    status = 200 if request.method == "GET" else 422
    return render(request, "studies/facets.html", {"study": study, "form": form}, status=status)
