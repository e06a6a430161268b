"""What workers of a study read, for who makes it."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import override
from django.views.decorators.http import require_GET

from crowd.languages import language_of_pages
from crowd.views import instructions_shown
from crowd.work import WorkerTask
from studies.queries import studies_of
from studies.tasks import task_of


@require_GET
@login_required
def preview(request: HttpRequest, pk: int) -> HttpResponse:
    """The instructions as a worker gets them, with no way to begin."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    task = task_of(study)
    if not isinstance(task, WorkerTask):
        raise Http404("No workers take part in such a study.")
    with override(language_of_pages(study)):
        shown = {"preview": True, "consent": study.consent_versions.last(), **instructions_shown(study)}
        return render(request, task.instructions, shown)
