"""The researcher's page of gold items: their answers, their number per worker, and workers' results."""

from collections.abc import Generator
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from evaluation.files.writing import csv_text
from evaluation.quality.accuracy import share
from evaluation.statistics.interval import Undefined
from turnwise.judging import queries
from turnwise.judging.asks import question_sets_of, questions_about
from turnwise.judging.batteries.battery_rules import battery_of
from turnwise.judging.forms import FileForm, NumberForm, RightForm
from turnwise.judging.gold import gold_items
from turnwise.judging.models import Item
from turnwise.judging.queue.services import plan_of
from turnwise.judging.views import judging_study
from turnwise.live.downloads import attachment
from turnwise.studies.models import Study

LONGEST_TEXT = 300


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def gold_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Show gold items and workers' results; by POST upload a file, or set the number per worker."""
    study = judging_study(request, pk)
    by_file = request.method == "POST" and "by_file" in request.POST
    sent = request.POST if request.method == "POST" and not by_file else None
    number = NumberForm(sent, instance=plan_of(study))
    file = FileForm(request.POST, request.FILES) if by_file else FileForm()
    if request.method == "POST":
        form = file if by_file else number
        if form.is_valid() and (message := _apply_form(study, form)):
            messages.success(request, message)
            return redirect("judging:gold", pk=pk)
    return _page(request, study, number, file)


def _apply_form(study: Study, form: forms.Form | NumberForm) -> str:
    """Apply a valid form. Returns a message, or "" after adding an error to the form."""
    try:
        if isinstance(form, NumberForm):
            gold_items.set_gold_per_worker(study, form.cleaned_data["gold_items"])
            return _("Saved. It applies to workers who start from now on.")
        declared = gold_items.declare_gold(
            study, gold_items.parse_gold_file(form.cleaned_data["file"], study)
        )
    except ValidationError as error:
        form.add_error(None, error)
        return ""
    return ngettext("%(n)s item is gold now.", "%(n)s items are gold now.", declared) % {"n": f"{declared:,}"}


def _page(request: HttpRequest, study: Study, number: NumberForm, file: FileForm) -> HttpResponse:
    context = {
        "study": study,
        "number": number,
        "file": file,
        "items": [_item_row(item) for item in gold_items.gold_items_of(study)],
        "workers": [_worker_row(row) for row in gold_items.gold_counts(study)],
        "battery": battery_of(study),
        "has_items": study.items.exists(),
        "questions": [each for used in question_sets_of(study) for each in gold_items.closed_questions(used)],
    }
    return render(request, "judging/gold.html", context, status=200 if request.method != "POST" else 422)


def _item_row(item: Item) -> dict[str, Any]:
    right = item.right_answers or {}
    return {
        "key": item.key,
        "is_check": item.is_instructed,
        "text": _text(item),
        "right": [
            (each.wording, ", ".join(each.caption_of(answer) for answer in right[each.key]))
            for each in questions_about(item).questions
            if right.get(each.key)
        ],
    }


def _text(item: Item) -> str:
    if item.context:
        return str(item.context.turns[-1])
    judged = item.response or item.turn
    return judged.text if judged else ""


def _worker_row(row: gold_items.GoldCount) -> dict[str, Any]:
    return {
        "worker": row.worker,
        "gold": _format_share(row.right, row.judged),
        "checks": f"{row.attentive} / {row.checks}" if row.checks else "",
        "wrong": row.wrong,
    }


def _format_share(right: int, judged: int) -> str:
    interval = share(right, judged)
    if isinstance(interval, Undefined):
        return ""
    percent, low, high = (round(100 * each) for each in interval)
    return _("%(right)d of %(judged)d: %(percent)d\u00a0%% (%(low)d to %(high)d)") % {
        "right": right, "judged": judged, "percent": percent, "low": low, "high": high,
    }  # fmt: skip


@require_POST
@login_required
def item_gold(request: HttpRequest, pk: int, key: UUID) -> HttpResponse:
    """Make an item gold, change its right answers, or make it ordinary again."""
    study = judging_study(request, pk)
    item = get_object_or_404(study.items.select_related("ask"), key=key)
    form = RightForm(request.POST, questions=gold_items.closed_questions(questions_about(item)))
    try:
        if "take_back" in request.POST:
            gold_items.undeclare_gold(study, item.key)
            messages.success(request, _("The item is judged like the others."))
        elif form.is_valid():
            gold_items.declare_gold(study, {item.key: form.gold()})
            messages.success(request, _("The item is gold: it counts in no score."))
        else:
            messages.error(request, _("These are not answers to the questions. No changes were made."))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("judging:item", pk=pk, key=item.key)


@require_GET
@login_required
def items_csv(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    """Download the items of the queue as a form for right answers."""
    study = judging_study(request, pk)
    name = f"turnwise-{study.code}-items.csv"
    return attachment(request, _lines(study), "text/csv; charset=utf-8", name)


def _lines(study: Study) -> Generator[str]:
    yield csv_text([(*gold_items.COLUMNS, "instructed", "before", "text")])
    for key, before, text in queries.texts_of(study):
        yield csv_text([(str(key), "", "", "", before[:LONGEST_TEXT], text[:LONGEST_TEXT])])
