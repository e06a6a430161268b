"""Pages to create, edit, copy, open, share and tag a study, and to set the facets of its bots."""

from collections.abc import Callable, Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import TooManyAtOnceError, reads_a_file
from turnwise.bots.trial import Greeting
from turnwise.studies import services
from turnwise.studies.ask_rules import rows_of
from turnwise.studies.facets import facets_of, format_facets, parse_facets, set_facets
from turnwise.studies.models import Study
from turnwise.studies.opening_checks import checks, obstacle_among, open_study, try_bots
from turnwise.studies.outlook import OutlookForm, parse_count
from turnwise.studies.presets import OWN_DESIGN, PRESETS, preset_named, preset_of
from turnwise.studies.queries import studies_of
from turnwise.studies.starting.intentions import Aim
from turnwise.studies.starting.starts import Beginning, Choices, own_questions
from turnwise.studies.tasks import EditingPage, task_named, task_of, tasks


@login_required
def new(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Create a study; without a preset or a task in the address, ask what the researcher wants to know."""
    if request.method == "GET" and not request.GET.keys() & {"protocol", "task"}:
        every = {"tasks": tasks(), "presets": [each for each in PRESETS if each.protocol]}
        return render(request, "studies/new.html", {"choices": Choices(request.GET.dict()), **every})
    preset = preset_named(request.GET.get("protocol", "")) or OWN_DESIGN
    return _page_of(request)(request, preset.study(request.GET.get("task", "")))


@login_required
@require_GET
def outlook(request: HttpRequest) -> HttpResponse:
    """Outlook of a study that is being planned, as a part of its page."""
    form, key = OutlookForm(request.GET), request.GET.get("study", "")
    if not form.is_valid() or "task" not in request.GET:
        return HttpResponse(status=422)
    study = None
    if key:
        study = get_object_or_404(studies_of(request.user), pk=parse_count(key))
    task = task_of(study) if study else task_named(request.GET.get("task", ""))
    planned = task.planned(study, request.GET.dict(), form.targets)
    found = form.outlook(planned) if planned else None
    return render(request, "studies/outlook.html", {"outlook": found, "task": task})


@login_required
def edit(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    return _page_of(request)(request, get_object_or_404(studies_of(request.user), pk=pk))


def _page_of(request: HttpRequest) -> Callable[[AuthenticatedHttpRequest, Study], HttpResponse]:
    """The page of a study's form; one that reads an upload is limited."""
    return reads_a_file(_page) if request.FILES else _page


def _page(request: AuthenticatedHttpRequest, study: Study) -> HttpResponse:
    task, is_new = task_of(study), study.pk is None
    beginning = Beginning(task, preset_of(study), request.GET.dict() if is_new else {})
    wants_own = is_new and beginning.aim == Aim.QUESTIONS
    own = own_questions(request.user, task) if wants_own else ()
    if own:
        study.every_ask = rows_of(study, own)
    material = task.chosen_material(request.user, request.GET.dict()) if is_new else ()
    page = task.form(request.user, study, request.POST or None)
    page.form.files = request.FILES
    if request.method == "POST" and page.is_valid() and (saved := _saved(request, page, beginning, material)):
        if material:
            return redirect("studies:opening", pk=saved.pk)
        return redirect(task.first_page(saved, beginning.way, beginning.by) if is_new else saved)
    context = {
        "study": None if is_new else study,
        "task": task,
        "beginning": beginning,
        "material": material,
        "to_choose": beginning.preset.to_choose if is_new else (),
        "lacks_questions": wants_own and not own,
        **page.template_context(),
    }
    return render(request, page.template, context, status=200 if request.method == "GET" else 422)


def _saved(
    request: AuthenticatedHttpRequest, page: EditingPage, beginning: Beginning, material: Sequence[object]
) -> Study | None:
    """Save the study; None if it is refused, with the reason in the form."""
    try:
        with transaction.atomic():
            saved = services.save_study(
                page.study(),
                owner=request.user,
                consent_text=page.consent_text(),
                targets=page.targets(),
                plan=page.plan(),
                asks=page.every_ask(),
            )
            task_of(saved).recruit(saved, beginning.by)
            task_of(saved).fill(saved, material)
    except ValidationError as error:
        page.form.add_error(None, error)
        return None
    messages.success(request, _("“%(title)s” is saved.") % {"title": saved.title})
    return saved


@login_required
@require_POST
def clone(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    copy = services.clone(study, owner=request.user)
    messages.success(request, _("This is the copy, a draft. Nobody has taken part in it."))
    return redirect(copy)


@login_required
@require_POST
def archive(request: HttpRequest, pk: int) -> HttpResponse:
    """Archive a study, or take that back."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    try:
        if request.POST.get("undo"):
            services.unarchive(study.pk)
        else:
            services.archive(study.pk)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect(study)


@login_required
def opening(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """Checks before the opening; a POST also greets each bot."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    greetings: list[Greeting] = []
    status = 200
    if request.POST.get("greet"):
        try:
            greetings = try_bots(study, to=request.user)
        except TooManyAtOnceError:
            messages.error(request, _check_running_message())
            status = 429
    found = checks(study)
    context = {
        "study": study,
        "checks": found,
        "obstacle": obstacle_among(found),
        "bots": task_of(study).bots_to_try(study),
        "has_workers": task_of(study).has_workers,
        "tried": greetings,
        "none_answers": bool(greetings) and not any(each.answered for each in greetings),
    }
    return render(request, "studies/opening.html", context, status=status)


def _check_running_message() -> str:
    return _("You are having bots checked already, so nothing was tried or changed. Wait for the answer.")


@login_required
@require_POST
def set_state(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    try:
        state = Study.State(request.POST.get("state", ""))
        if state == Study.State.OPEN:
            silent = [each for each in open_study(study, to=request.user) if not each.answered]
            for each in silent:
                says = {"bot": each.bot, "why": each.says}
                messages.error(request, _("%(bot)s does not answer, so no worker gets it: %(why)s") % says)
        else:
            services.set_state(study.pk, state)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    except TooManyAtOnceError:
        messages.error(request, _check_running_message())
    except ValueError:
        messages.error(
            request,
            _("“%(value)s” is not a state of a study. Use open or closed.")
            % {"value": request.POST.get("state", "")[:20]},
        )
    return redirect(study)


EXAMPLE = "architecture=VHRED, data=Reddit"


class FacetsForm(forms.Form):
    """One field with facets for each bot of the study."""

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        titles = dict(study.study_bots.values_list("bot__name", "bot__title"))
        for name, facets in facets_of(study).items():
            self.fields[name] = forms.CharField(
                label=titles[name], required=False, max_length=600, initial=format_facets(facets),
                widget=forms.TextInput(attrs={"placeholder": EXAMPLE, "spellcheck": "false"}),
            )  # fmt: skip

    def clean(self) -> dict[str, Any]:
        for name in list(self.cleaned_data):
            try:
                self.cleaned_data[name] = parse_facets(self.cleaned_data[name])
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


@login_required
@require_POST
def tags(request: HttpRequest, pk: int) -> HttpResponse:
    """Set the tags of a study, separated by commas; shows a page to correct them if they are refused."""
    study = get_object_or_404(studies_of(request.user).filter(rehearsal_of=None), pk=pk)
    written = request.POST.get("tags", "")[:1000]
    try:
        services.set_tags(study, written.split(","))
    except ValidationError as error:
        context = {"study": study, "written": written, "refused": " ".join(error.messages)}
        return render(request, "studies/tags.html", context, status=422)
    return redirect(study)
