"""The page and the files of a study's plan."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from evaluation.report.preregistration import AS_PREDICTED, as_markdown, as_predicted, as_text
from turnwise.studies.models import Preregistration
from turnwise.studies.plans.preregistration import plan_of
from turnwise.studies.queries import studies_of
from turnwise.studies.services import PROTOCOL_FIELDS

_FILES = {
    "json": (as_text, "application/json", "plan.json"),
    "md": (as_markdown, "text/markdown; charset=utf-8", "plan.md"),
    "aspredicted": (as_predicted, "text/markdown; charset=utf-8", "aspredicted.md"),
}


@require_GET
@login_required
def preregistration(request: HttpRequest, pk: int) -> HttpResponse:
    """The plan as it was at the first opening; of a draft, as it would be now."""
    study = get_object_or_404(studies_of(request.user).filter(rehearsal_of=None), pk=pk)
    stored = Preregistration.objects.filter(study=study).first()
    is_draft = study.state == study.State.DRAFT
    plan = stored.plan if stored else plan_of(study, PROTOCOL_FIELDS) if is_draft else None
    context = {"study": study, "stored": stored, "plan": plan, "asked": AS_PREDICTED}
    return render(request, "studies/preregistration.html", context)


@require_GET
@login_required
def plan_file(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    """A file of the frozen plan: JSON, Markdown, or the layout of AsPredicted."""
    study = get_object_or_404(studies_of(request.user).filter(rehearsal_of=None), pk=pk)
    stored = Preregistration.objects.filter(study=study).first()
    if stored is None or kind not in _FILES:
        raise Http404("The plan is fixed when the study opens; there is no such file of it.")
    write, media_type, name = _FILES[kind]
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(write(stored.plan), content_type=media_type, headers=headers)
