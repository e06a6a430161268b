"""The page and the files of a study's plan."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from evaluation.report.publishing.preregistration import as_markdown, as_text
from evaluation.report.publishing.registry_forms import as_predicted, osf
from turnwise.studies.models import Preregistration
from turnwise.studies.plans.preregistration import plan_of
from turnwise.studies.queries import real_studies_of
from turnwise.studies.services import PROTOCOL_FIELDS
from turnwise.studies.sharing.permissions import Permission

_JSON, _MARKDOWN = "application/json", "text/markdown; charset=utf-8"
_FILES = {
    "json": (as_text, _JSON, "plan.json"),
    "md": (as_markdown, _MARKDOWN, "plan.md"),
    "aspredicted": (lambda plan: as_predicted(plan).markdown(), _MARKDOWN, "aspredicted.md"),
    "aspredicted-json": (lambda plan: as_predicted(plan).json(), _JSON, "aspredicted.json"),
    "osf": (lambda plan: osf(plan).markdown(), _MARKDOWN, "osf-preregistration.md"),
    "osf-json": (lambda plan: osf(plan).json(), _JSON, "osf-preregistration.json"),
}


@require_GET
@login_required
def preregistration(request: HttpRequest, pk: int) -> HttpResponse:
    """The plan as it was at the first opening; of a draft, as it would be now."""
    study = get_object_or_404(real_studies_of(request.user, Permission.REVIEW), pk=pk)
    stored = Preregistration.objects.filter(study=study).first()
    is_draft = study.state == study.State.DRAFT
    plan = stored.plan if stored else plan_of(study, PROTOCOL_FIELDS) if is_draft else None
    missing = [each.asked for each in osf(stored.plan).answers if each.to_write] if stored else []
    context = {"study": study, "stored": stored, "plan": plan, "to_write": missing}
    return render(request, "studies/preregistration.html", context)


@require_GET
@login_required
def plan_file(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    """A file of the frozen plan: JSON, Markdown, or the layout of a public registry's form."""
    study = get_object_or_404(real_studies_of(request.user, Permission.REVIEW), pk=pk)
    stored = Preregistration.objects.filter(study=study).first()
    if stored is None or kind not in _FILES:
        raise Http404("The plan is fixed when the study opens; there is no such file of it.")
    write, media_type, name = _FILES[kind]
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(write(stored.plan), content_type=media_type, headers=headers)
