"""The pages of a rater. The socket in `consumers` does the judging."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import override
from django.views.decorators.http import require_POST, require_safe

from turnwise.crowd.entry.worker_views import begin_work, current_participation, page_of, worker_page
from turnwise.crowd.languages import ENGLISH, catalog_of
from turnwise.crowd.models import Participation
from turnwise.crowd.worker_task import work_of
from turnwise.judging.asks import questions_by_ask_number
from turnwise.judging.models import Batch
from turnwise.judging.queue import services as judging
from turnwise.judging.queue import training
from turnwise.judging.queue.services import plan_of
from turnwise.knowledge.reading_sets import parse_pasted
from turnwise.studies.models import Study, language_name
from turnwise.tasks.judging.task import Judging


@require_POST
@worker_page
def start(request: HttpRequest, study: Study) -> HttpResponse:
    return begin_batch(request, study)


def begin_batch(request: HttpRequest, study: Study) -> HttpResponse:
    """Begin a batch; in a study with several languages, ask which one the worker reads."""

    def begin(participation: Participation) -> HttpResponse:
        language = study.languages[0] if len(study.languages) == 1 else request.POST.get("language", "")
        if language not in study.languages:
            names = [(code, language_name(code, in_itself=True)) for code in study.languages]
            context = {"study": study, "languages": names, "begin": request.path}
            return render(request, "tasks/judging/language.html", context)
        if training.is_due(participation):
            return redirect("judging_task:practise", code=study.code)
        judging.begin(participation, language=language)
        return redirect(work_of(study).go_on, code=study.code)

    return begin_work(request, study, begin)


@require_safe
@worker_page
def judge(request: HttpRequest, study: Study) -> HttpResponse:
    return batch_page(request, study, Judging.go_on, "tasks/judging/judge.html")


def batch_page(request: HttpRequest, study: Study, name: str, template: str) -> HttpResponse:
    """The judging page of the worker's batch, or a redirect if the worker is at another page."""
    participation = current_participation(request, study)
    if page_of(participation) != name:
        return redirect(page_of(participation), code=study.code)
    batch = Batch.objects.get(assignment=participation.assignment)
    materials = parse_pasted(study.material) if study.material else []
    context = {
        "study": study,
        "batch": batch,
        "resume_code": participation.resume_code,
        "materials": materials,
        "has_reading": bool(materials) or plan_of(study).shows_reading,
        "settings": _page_settings(batch, study),
    }
    # The page is in the language that the worker chose.
    with override(catalog_of(batch.language) or ENGLISH):
        return render(request, template, context)


def _page_settings(batch: Batch, study: Study) -> dict[str, object]:
    return {
        "socket": f"/ws/batches/{batch.public_id}/",
        "batch": str(batch.public_id),
        "asks": questions_by_ask_number(study, batch.language),
    }
