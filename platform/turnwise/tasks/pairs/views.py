"""The pages of a worker who compares pairs, and the researcher's page for making pairs."""

from collections.abc import Mapping

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from turnwise.crowd.entry.worker_views import worker_page
from turnwise.judging.items import pairs
from turnwise.judging.items.pairs import PairSource, Preview
from turnwise.studies.models import Study
from turnwise.studies.queries import studies_of
from turnwise.tasks.judging.views import batch_page, begin_batch
from turnwise.tasks.pairs.task import ConversationPairsForm, Pairs, ResponsePairsForm, SourceForm

FORMS: Mapping[str, type[SourceForm]] = {
    "responses": ResponsePairsForm,
    "conversations": ConversationPairsForm,
}


@require_POST
@worker_page
def start(request: HttpRequest, study: Study) -> HttpResponse:
    return begin_batch(request, study)


@require_safe
@worker_page
def compare(request: HttpRequest, study: Study) -> HttpResponse:
    return batch_page(request, study, Pairs.go_on, "tasks/pairs/compare.html")


@login_required
def add(request: HttpRequest, pk: int) -> HttpResponse:
    """Preview the pairs with their cost; on the second POST, add them."""
    study = get_object_or_404(studies_of(request.user).filter(task=Pairs.key, rehearsal_of=None), pk=pk)
    assert request.user.is_authenticated
    sent = request.POST.get("of", "") if request.method == "POST" else ""
    form_by_kind = {
        kind: form((request.POST if kind == sent else None), user=request.user, study=study, prefix=kind)
        for kind, form in FORMS.items()
    }
    form = form_by_kind.get(sent)
    preview = None
    source = form.source() if form is not None and form.is_valid() else None
    if form is not None and source is not None:
        try:
            if "add" in request.POST:
                return _added(request, study, source)
            preview = pairs.preview(study, source)
        except ValidationError as error:
            form.add_error(None, error)
    return _add_page(request, study, form_by_kind, sent, preview)


def _added(request: HttpRequest, study: Study, source: PairSource) -> HttpResponse:
    items = pairs.add(study, source)
    message = (
        ngettext("%(n)s pair added.", "%(n)s pairs added.", items) % {"n": f"{items:,}"}
        if items
        else _("Nothing was added: all of them are already there.")
    )
    messages.success(request, message)
    return redirect("judging:queue", pk=study.pk)


def _add_page(
    request: HttpRequest,
    study: Study,
    form_by_kind: Mapping[str, SourceForm],
    sent: str,
    preview: Preview | None,
) -> HttpResponse:
    context = {
        "study": study,
        "of": sent,
        "preview": preview,
        **{f"{kind}_form": f for kind, f in form_by_kind.items()},
    }
    is_refused = request.method == "POST" and preview is None
    return render(request, "tasks/pairs/add.html", context, status=422 if is_refused else 200)
