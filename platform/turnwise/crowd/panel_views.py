"""The page *Panels* of a study: where its people come from, and what each panel is told at the end."""

from collections.abc import Generator
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from evaluation.spreadsheets import csv_text
from turnwise.crowd import taking
from turnwise.crowd.models import StudyPanel
from turnwise.crowd.panel_forms import DEFAULT_PARAMETER, InviteForm, PanelForm, WhoForm, panel_forms, rows_of
from turnwise.crowd.panels.invited import PARAMETER
from turnwise.live.streaming import attachment
from turnwise.studies.models import Study
from turnwise.studies.queries import studies_of


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def panels(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    assert request.user.is_authenticated
    data = request.POST if request.method == "POST" else None
    filled, who = panel_forms(study, data), WhoForm(request.user, study, data)
    if data is not None and all([*(form.is_valid() for form in filled), who.is_valid()]):
        try:
            taking.take_panels(
                study, rows_of(filled), closed_to=list(who.cleaned_data["closed_to_workers_of"])
            )
        except ValidationError as error:
            _show_errors(error, filled)
        else:
            messages.success(request, _("The panels are saved."))
            return redirect("crowd:panels", pk=study.pk)
    return _page(request, study, filled, who, status=200 if data is None else 422)


def _show_errors(error: ValidationError, filled: list[PanelForm]) -> None:
    """Put each problem beside its field."""
    by_key = {form.panel.key: form for form in filled}
    for where, says in error.message_dict.items():
        key, _dash, name = where.partition("-")
        form = by_key[key]
        form.add_error(name if name in form.fields else None, says)


def _page(
    request: HttpRequest,
    study: Study,
    filled: list[PanelForm],
    who: WhoForm,
    *,
    inviting: InviteForm | None = None,
    status: int = 200,
) -> HttpResponse:
    entry = request.build_absolute_uri(study.get_entry_url())
    stored = {taken.panel: taken for taken in study.panels.select_related("study")}
    cards = [
        (form, form.panel.link(entry, stored.get(form.panel.key) or _as_new(study, form))) for form in filled
    ]
    invited = taking.invitations(study)
    context: dict[str, Any] = {
        "study": study,
        "cards": cards,
        "who": who,
        "inviting": inviting or InviteForm(),
        "invited": len(invited),
        "unused": sum(not has_come for _invitation, has_come in invited),
        "is_wrong": any(form.errors for form in filled) or bool(who.errors),
    }
    return render(request, "crowd/panels.html", context, status=status)


def _as_new(study: Study, form: PanelForm) -> StudyPanel:
    return StudyPanel(study=study, panel=form.panel.key, parameter=DEFAULT_PARAMETER)


@require_POST
@login_required
def invite(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    assert request.user.is_authenticated
    form = InviteForm(request.POST, request.FILES)
    if not form.is_valid():
        who = WhoForm(request.user, study)
        return _page(request, study, panel_forms(study), who, inviting=form, status=422)
    new, before = taking.invite(study, form.cleaned_data["names"])
    says = ngettext("%(n)d person is invited.", "%(n)d people are invited.", new) % {"n": new}
    if before:
        says += " " + ngettext(
            "%(n)d was already invited and keeps the link.",
            "%(n)d were already invited and keep their links.",
            before,
        ) % {"n": before}
    messages.success(request, says)
    return redirect("crowd:panels", pk=study.pk)


@require_GET
@login_required
def invitations_csv(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    entry = request.build_absolute_uri(study.get_entry_url())
    return attachment(
        request, _lines(study, entry), "text/csv; charset=utf-8", f"turnwise-{study.code}-invitations.csv"
    )


def _lines(study: Study, entry: str) -> Generator[str]:
    yield csv_text([("name", "link", "used", "panel_id")])
    for invitation, has_come in taking.invitations(study):
        link = f"{entry}?{PARAMETER}={invitation.token}"
        yield csv_text([(invitation.name, link, "yes" if has_come else "no", invitation.panel_id)])
