"""Pages of one bot over time, with the perplexities of its versions."""

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from turnwise.bots.models import Bot, BotVersion
from turnwise.bots.queries import visible_bots
from turnwise.bots.services import record_perplexity, reports_perplexity
from turnwise.comparisons import chart_sheets, history, protocols
from turnwise.comparisons.forms import MOST_STUDIES, PerplexityForm
from turnwise.comparisons.measures import Measured, choose_measured, offered_to
from turnwise.comparisons.protocols import differences
from turnwise.comparisons.scores import TooMuchError
from turnwise.comparisons.side_by_side import MAX_SCORES
from turnwise.comparisons.views import bounded, bounded_pictures
from turnwise.labels.explorer import score_key
from turnwise.reports.page import drilldown_link
from turnwise.studies.models import Study
from turnwise.studies.queries import readable_real_studies_of, with_bots


@require_GET
@bounded
def bot(request: HttpRequest, name: str) -> HttpResponse:
    row = get_object_or_404(history.bots_of(request.user), name=name)
    return render(request, "comparisons/bot.html", _context(request, row))


@require_POST
@bounded
def perplexity(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Save the perplexity of a version."""
    row = get_object_or_404(history.bots_of(request.user), name=name)
    get_object_or_404(
        visible_bots(request.user), pk=row.pk
    )  # only people who can see the bot may enter its perplexity
    version = get_object_or_404(row.versions, pk=pk)
    assert request.user.is_authenticated
    form = PerplexityForm(request.POST, prefix=str(pk))
    if form.is_valid():
        try:
            record_perplexity(
                version,
                perplexity=form.cleaned_data["perplexity"],
                data=form.cleaned_data["measured_on"],
                tokenizer=form.cleaned_data["tokenizer"],
                by=request.user,
            )
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(
                request,
                _("The perplexity of version %(value)s is saved.") % {"value": version.name},
            )
            return redirect("comparisons:bot", name=name)
    return render(request, "comparisons/bot.html", _context(request, row, refused=form), status=422)


@require_GET
@bounded_pictures
def chart(request: HttpRequest, name: str, chart: str, ending: str) -> HttpResponse:
    row = get_object_or_404(history.bots_of(request.user), name=name)
    studies = _studies(request, row)
    measured = _measured(request, offered_to(request.user, studies=studies))
    try:
        rows = history.rows(row, history.versions_of(row), studies, measured)
    except TooMuchError as error:
        return HttpResponse(str(error), status=503, content_type="text/plain; charset=utf-8")
    return chart_sheets.chart_file(
        request, chart_sheets.history_sheets(history.chart_rows(rows), measured), chart, ending
    )


def _measured(request: HttpRequest, offered: Sequence[Measured]) -> Measured:
    return choose_measured(offered, request.GET.get("questions", ""), request.GET.getlist("score"))


def _studies(request: HttpRequest, bot: Bot) -> list[Study]:
    """The newest studies with this bot that the user may read."""
    visible = history.studies_with(bot, readable_real_studies_of(request.user)).exclude(
        state=Study.State.DRAFT
    )
    newest = visible.prefetch_related("asks", "consent_versions", with_bots()).order_by("-created_at", "-pk")
    return sorted(newest[:MOST_STUDIES], key=lambda study: study.pk)


def _context(request: HttpRequest, bot: Bot, *, refused: PerplexityForm | None = None) -> dict[str, Any]:
    studies, versions = _studies(request, bot), history.versions_of(bot)
    offered = offered_to(request.user, studies=studies)
    measured = _measured(request, offered)
    rows, trouble = [], ""
    try:
        rows = history.rows(bot, versions, studies, measured)
    except TooMuchError as error:
        trouble = str(error)
    in_rows = {row.study.pk: row.study for row in rows}
    of_course = chart_sheets.history_sheets(history.chart_rows(rows), measured)
    drawn = chart_sheets.charts(
        of_course,
        lambda name, ending: reverse("comparisons:bot_chart", args=[bot.name, name, ending]),
        urlencode(measured.query),
        {
            sheet.name: {
                str(row.number): _judgments_link(row, bot, measured, sheet.data["main"]) for row in rows
            }
            for sheet in of_course
        },
    )
    return {
        "bot": bot,
        "studies": studies,
        "chosen": list(in_rows.values()),
        "may_see": visible_bots(request.user).filter(pk=bot.pk).exists(),
        "versions": [_version(each, refused) for each in versions[::-1]],
        "most_versions": history.MOST_VERSIONS,
        "most_studies": MOST_STUDIES,
        "rows": rows,
        "titles": measured.titles,
        "scored": measured.questions,
        "measured": measured,
        "offered": offered,
        "reasons": [
            f"Row {row.number}: {row.scored.cells[measured.leading]['undefined']}"
            for row in rows
            if "undefined" in row.scored.cells[measured.leading]
        ],
        "most_drawn": chart_sheets.MOST_ROWS,
        "charts": list(drawn.values()),
        "most_picked": MAX_SCORES,
        "intervals": protocols.describe_levels(protocols.levels_by_name([*in_rows.values()]))
        if in_rows
        else "",
        "differences": differences(protocols.protocols_of(list(in_rows.values()))),
        "trouble": trouble,
    }


def _judgments_link(row: history.Row, bot: Bot, measured: Measured, score: str) -> str:
    """Address of a row's judgments, filtered by the bot and this score."""
    asks = enumerate(row.study.work_asks)
    numbers = [n for n, ask in asks if ask.question_set == measured.key and ask.about in measured.about]
    if not row.task.has_conversations:
        return drilldown_link(row.study)(bot.title, score=score, ask=numbers[0] if numbers else 0)
    narrowed = {"bot": bot.name}
    if numbers:
        narrowed["score"] = score_key(numbers[0], score)
    return f"{reverse(row.task.read_at, args=[row.study.pk])}?{urlencode(narrowed)}"


def _version(version: BotVersion, refused: PerplexityForm | None) -> dict[str, Any]:
    details = json.dumps(version.details, indent=1, sort_keys=True, ensure_ascii=False)
    return {
        "version": version,
        "form": _form(version, refused),
        "details": details,
        "is_reported": reports_perplexity(version),
    }


def _form(version: BotVersion, refused: PerplexityForm | None) -> PerplexityForm:
    """Form of a version: the refused one, or one with the stored values."""
    if refused is not None and refused.prefix == str(version.pk):
        return refused
    stored = {
        "perplexity": version.perplexity,
        "measured_on": version.perplexity_data,
        "tokenizer": version.perplexity_tokenizer,
    }
    return PerplexityForm(initial=stored, prefix=str(version.pk))
