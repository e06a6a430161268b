"""Page *Panels* of a study: its panels with their settings, eligibility, and invitations."""

from collections.abc import Generator, Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from evaluation.files.writing import csv_text
from turnwise.accounts.models import User
from turnwise.crowd.models import Outcome, StudyPanel
from turnwise.crowd.panels import Panel, study_panels
from turnwise.crowd.panels import panels as all_panels
from turnwise.crowd.panels.base import LONGEST_SHOWN
from turnwise.crowd.panels.links import PARAMETER
from turnwise.crowd.panels.study_panels import parse_invited_people
from turnwise.live.downloads import attachment
from turnwise.studies.form_fields import list_newest
from turnwise.studies.models import Study
from turnwise.studies.queries import real_studies_of, studies_of

# Name of each outcome on the page.
OUTCOMES = {
    Outcome.COMPLETE: _("Complete"),
    Outcome.SCREENED_OUT: _("Screened out"),
    Outcome.STUDY_FULL: _("Study full or closed"),
    Outcome.BOT_FAILED: _("Chatbot failed"),
    Outcome.TIMED_OUT: _("Ran out of time"),
    Outcome.WITHDRAWN: _("Left"),
    Outcome.PARTNER_LEFT: _("Partner left"),
    Outcome.NO_PARTNER: _("No partner came"),
}
_LABELS = {
    "parameter": _("Parameter with the id of the person"),
    "secret": _("Secret for signatures"),
    "return_url": _("Address to return to"),
    "token": _("Variable with the token for the API"),
    "their_study": _("Id of the study at Prolific"),
}
LARGEST_LIST = 1_000_000


class PanelForm(forms.Form):
    """Form of one panel: whether the study uses it, its settings and codes."""

    taken = forms.BooleanField(required=False)

    def __init__(
        self, panel: Panel, stored: StudyPanel | None, *, is_default: bool, data: Any = None
    ) -> None:
        super().__init__(data, prefix=panel.key)
        self.panel, self.stored = panel, stored
        self._proposed = study_panels.proposed_setup(panel)
        self.fields["taken"].label = str(panel.title)
        self.fields["taken"].initial = bool(stored) or is_default
        for name in panel.asks_for:
            model_field = StudyPanel._meta.get_field(name)
            self.fields[name] = forms.CharField(
                required=False,
                max_length=model_field.max_length,  # type: ignore[union-attr]  # all are texts
                label=_LABELS[name],
                help_text=model_field.help_text,  # type: ignore[union-attr]
                initial=getattr(stored or self._proposed, name),
                widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
            )
        for outcome in panel.outcomes:
            self.fields[f"code_{outcome}"] = forms.CharField(
                required=False,
                max_length=LONGEST_SHOWN,
                label=OUTCOMES[outcome],
                initial=self._code(outcome),
                widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "mono"}),
            )

    def _code(self, outcome: Outcome) -> str:
        """Stored code of an outcome, or a new one if a panel that requires codes has none yet."""
        if self.stored and (self.stored.codes or outcome not in self.panel.needed):
            return str(self.stored.codes.get(outcome, ""))
        return str(self._proposed.codes.get(outcome, ""))

    @property
    def settings(self) -> list[forms.BoundField]:
        return [self[name] for name in self.panel.asks_for]

    @property
    def codes(self) -> list[forms.BoundField]:
        return [self[f"code_{outcome}"] for outcome in self.panel.outcomes]

    def row(self) -> StudyPanel:
        """Row to store; the form must be valid."""
        values = {name: self.cleaned_data[name].strip() for name in self.panel.asks_for}
        codes = {
            str(outcome): code
            for outcome in self.panel.outcomes
            if (code := self.cleaned_data[f"code_{outcome}"].strip())
        }
        return StudyPanel(panel=self.panel.key, codes=codes, **values)


def panel_forms(study: Study, data: Any = None) -> list[PanelForm]:
    """Forms of all panels, with the study's settings."""
    stored = {taken.panel: taken for taken in study.panels.all()}
    return [
        PanelForm(panel, stored.get(panel.key), is_default=not stored and panel.key == "open", data=data)
        for panel in all_panels()
    ]


def rows_of(filled: Sequence[PanelForm]) -> list[StudyPanel]:
    """Rows of the selected panels; the forms must be valid."""
    return [form.row() for form in filled if form.cleaned_data["taken"]]


class EligibilityForm(forms.Form):
    """Form for eligibility: the studies whose participants are excluded."""

    closed_to_workers_of = forms.ModelMultipleChoiceField(
        queryset=Study.objects.none(),
        required=False,
        label=_("Exclude participants of"),
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, user: User, study: Study, data: Any = None) -> None:
        super().__init__(data)
        others = real_studies_of(user).exclude(pk=study.pk).exclude(state=Study.State.DRAFT)
        field = self.fields["closed_to_workers_of"]
        assert isinstance(field, forms.ModelMultipleChoiceField)
        field.queryset = others
        field.initial = closed = list(study.closed_to_workers_of.values_list("pk", flat=True))
        self.unlisted = list_newest(field, closed)


class InviteForm(forms.Form):
    """Form for a list of people to invite, as text or as a file."""

    people = forms.CharField(
        required=False,
        max_length=LARGEST_LIST,
        label=_("E-mail addresses or names"),
        help_text=_("A text with e-mail addresses anywhere in it, or one name on each line."),
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    file = forms.FileField(
        required=False, label=_("Or a CSV file"), help_text=_("Its first column names the people.")
    )

    def clean_file(self) -> str:
        file = self.cleaned_data["file"]
        if not file:
            return ""
        if file.size > LARGEST_LIST:
            raise forms.ValidationError(_("The file is larger than 1\u00a0MB. Split it."))
        try:
            return str(file.read().decode("utf-8-sig").replace("\x00", ""))
        except UnicodeDecodeError:
            raise forms.ValidationError(
                _("The file is not in UTF-8. Save it in UTF-8, and try again.")
            ) from None

    def clean(self) -> dict[str, Any]:
        sent = super().clean() or {}
        if not self.errors:
            sent["names"] = parse_invited_people(
                "\n".join(filter(None, [sent.get("people"), sent.get("file")]))
            )
        return sent


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def panels(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    assert request.user.is_authenticated
    data = request.POST if request.method == "POST" else None
    filled, who = panel_forms(study, data), EligibilityForm(request.user, study, data)
    if data is not None and all([*(form.is_valid() for form in filled), who.is_valid()]):
        try:
            study_panels.save_panels(
                study, rows_of(filled), closed_to=list(who.cleaned_data["closed_to_workers_of"])
            )
        except ValidationError as error:
            _show_errors(error, filled)
        else:
            messages.success(request, gettext("The panels are saved."))
            return redirect("crowd:panels", pk=study.pk)
    return _page(request, study, filled, who, status=200 if data is None else 422)


def _show_errors(error: ValidationError, filled: list[PanelForm]) -> None:
    """Show each problem at its field."""
    by_key = {form.panel.key: form for form in filled}
    for where, says in error.message_dict.items():
        key, _dash, name = where.partition("-")
        form = by_key[key]
        form.add_error(name if name in form.fields else None, says)


def _page(
    request: HttpRequest,
    study: Study,
    filled: list[PanelForm],
    who: EligibilityForm,
    *,
    inviting: InviteForm | None = None,
    status: int = 200,
) -> HttpResponse:
    entry = request.build_absolute_uri(study.get_entry_url())
    stored = {taken.panel: taken for taken in study.panels.select_related("study")}
    cards = [
        (form, form.panel.link(entry, stored.get(form.panel.key) or _as_new(study, form))) for form in filled
    ]
    invited = study_panels.invitations(study)
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
    return StudyPanel(study=study, panel=form.panel.key, parameter=study_panels.DEFAULT_PARAMETER)


@require_POST
@login_required
def invite(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    assert request.user.is_authenticated
    form = InviteForm(request.POST, request.FILES)
    if not form.is_valid():
        who = EligibilityForm(request.user, study)
        return _page(request, study, panel_forms(study), who, inviting=form, status=422)
    new, before = study_panels.invite(study, form.cleaned_data["names"])
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
    for invitation, has_come in study_panels.invitations(study):
        link = f"{entry}?{PARAMETER}={invitation.token}"
        yield csv_text([(invitation.name, link, "yes" if has_come else "no", invitation.panel_id)])
