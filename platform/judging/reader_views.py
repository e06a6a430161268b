from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from judging.readers import parties, turns_of_both
from labels.explorer import PER_PAGE
from questions.resolving import question_set
from studies.queries import studies_of


@require_GET
@login_required
def readers(request: HttpRequest, pk: int) -> HttpResponse:
    """Labels of the chatters beside those of readers, who judged the same turns in another study."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    asked = question_set(study.question_set)
    questions = asked.questions
    turns = turns_of_both(study)
    page = Paginator(turns, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "questions": questions,
        "parties": parties(asked, turns),
        "page": page,
        "rows": [{"turn": turn, "verdicts": turn.verdicts(questions)} for turn in page],
    }
    return render(request, "judging/readers.html", context)
