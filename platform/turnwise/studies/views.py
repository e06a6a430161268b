from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from turnwise.accounts.limits import TooManyAtOnceError
from turnwise.accounts.requests import AuthenticatedHttpRequest
from turnwise.bots.greeting import Tried
from turnwise.studies import services
from turnwise.studies.forms import StudyPage
from turnwise.studies.models import Study
from turnwise.studies.opening import checks, obstacle_among, open_study, try_bots
from turnwise.studies.outlook import OutlookForm
from turnwise.studies.planned import number
from turnwise.studies.presets import OWN_DESIGN, PRESETS, preset_named, presets_of
from turnwise.studies.queries import studies_of
from turnwise.studies.tasks import task_named, task_of, tasks


def home(request: HttpRequest) -> HttpResponse:
    return redirect("workspace:home" if request.user.is_authenticated else "accounts:sign_in")


@login_required
def new(request: AuthenticatedHttpRequest) -> HttpResponse:
    """A new study; the address has the published protocol that it begins as, or its task."""
    preset = preset_named(request.GET.get("protocol", "")) or OWN_DESIGN
    return _page(request, preset.study(request.GET.get("task", "")))


@login_required
@require_GET
def outlook(request: HttpRequest) -> HttpResponse:
    """What a study takes and can tell that is being planned: a part of its page."""
    form, key = OutlookForm(request.GET), request.GET.get("study", "")
    if not form.is_valid() or "task" not in request.GET:
        return HttpResponse(status=422)
    study = None
    if key:
        study = get_object_or_404(studies_of(request.user), pk=number(key))
    task = task_of(study) if study else task_named(request.GET.get("task", ""))
    planned = task.planned(study, request.GET.dict(), form.wanted_each)
    found = form.outlook(planned) if planned else None
    return render(request, "studies/outlook.html", {"outlook": found, "task": task})


@login_required
def edit(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    return _page(request, get_object_or_404(studies_of(request.user), pk=pk))


def _page(request: AuthenticatedHttpRequest, study: Study) -> HttpResponse:
    task = task_of(study)
    page = task.form(request.user, study, request.POST or None)
    way, is_new = request.GET.get("way", ""), study.pk is None
    if request.method == "POST" and page.is_valid() and (saved := _saved(request, page)):
        return redirect(task.set_out(saved, way) if is_new else saved)
    shown = {
        "study": study if study.pk else None,
        "task": task,
        "tasks": tasks(),
        "presets": [(True, presets_of(task)), (False, [each for each in PRESETS if not each.is_for(task)])],
        "protocol": study.protocol,
        "way": way if way in task.ways else "",
        **page.shown(),
    }
    return render(request, page.template, shown, status=200 if request.method == "GET" else 422)


def _saved(request: AuthenticatedHttpRequest, page: StudyPage) -> Study | None:
    """The stored study; None if it cannot be, which the form then says."""
    try:
        saved = services.save_study(
            page.study(),
            owner=request.user,
            consent_text=page.consent_text(),
            targets=page.targets(),
            plan=page.plan(),
            asks=page.every_ask(),
        )
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
            services.take_back(study.pk)
        else:
            services.archive(study.pk)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect(study)


@login_required
def opening(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """What an opening needs; sent, the page also greets each bot."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    told: list[Tried] = []
    status = 200
    if request.POST.get("greet"):
        try:
            told = try_bots(study, to=request.user)
        except TooManyAtOnceError:
            messages.error(request, _under_way())
            status = 429
    found = checks(study)
    shown = {
        "study": study,
        "checks": found,
        "obstacle": obstacle_among(found),
        "bots": task_of(study).bots_to_try(study),
        "tried": told,
        "none_answers": bool(told) and not any(each.answered for each in told),
    }
    return render(request, "studies/opening.html", shown, status=status)


def _under_way() -> str:
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
        messages.error(request, _under_way())
    except ValueError:
        messages.error(
            request,
            _("“%(value)s” is not a state of a study. Use open or closed.")
            % {"value": request.POST.get("state", "")[:20]},
        )
    return redirect(study)
