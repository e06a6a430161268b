"""The pages of a worker who judges; what happens on them goes through `judging_consumer`."""

from django.conf.locale import LANG_INFO
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from crowd import refusals
from crowd.views import current_participation, place_of, worker_page
from dialogues.views import asked
from evaluation.questions import question_set
from labels import judging
from labels.models import Batch
from studies.models import Study, Task


@require_POST
@worker_page
def start(request: HttpRequest, study: Study) -> HttpResponse:
    """Begin; where a study has several languages, the worker says which one they read."""
    if study.task != Task.JUDGING:
        raise refusals.unknown_study()
    participation = current_participation(request, study)
    language = study.languages[0] if len(study.languages) == 1 else request.POST.get("language", "")
    if language not in study.languages:
        names = [(code, LANG_INFO.get(code, {}).get("name_local", code)) for code in study.languages]
        return render(request, "labels/language.html", {"study": study, "languages": names})
    judging.begin(participation, language=language)
    return redirect("labels:judge", code=study.code)


@require_safe
@worker_page
def judge(request: HttpRequest, study: Study) -> HttpResponse:
    participation = current_participation(request, study)
    if place_of(participation) != "labels:judge":
        return redirect(place_of(participation), code=study.code)
    batch = Batch.objects.get(assignment=participation.assignment)
    context = {
        "study": study,
        "batch": batch,
        "resume_code": participation.resume_code,
        "settings": _page_settings(batch, study),
    }
    return render(request, "labels/judge.html", context)


def _page_settings(batch: Batch, study: Study) -> dict[str, object]:
    return {
        "socket": f"/ws/batches/{batch.public_id}/",
        "batch": str(batch.public_id),
        "questions": [asked(question) for question in question_set(study.question_set).questions],
    }
