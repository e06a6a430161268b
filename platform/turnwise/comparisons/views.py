"""Pages of studies side by side, and of scores against perplexity and human-likeness."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from evaluation.files.writing import csv_text, percent
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import too_many, too_often
from turnwise.bots.search import offer_bots
from turnwise.comparisons import chart_sheets, history, pairs, protocols
from turnwise.comparisons.drawing import Sheet
from turnwise.comparisons.forms import MOST_STUDIES, StudiesForm
from turnwise.comparisons.history import repeated_studies, static_minus_interactive
from turnwise.comparisons.measures import HUMAN_LIKE, Measured, marks_of, offered_to, published_r_squared
from turnwise.comparisons.measures import choose_measured as chosen_of
from turnwise.comparisons.protocols import differences
from turnwise.comparisons.scores import TooMuchError
from turnwise.comparisons.side_by_side import (
    CSV_COLUMNS,
    MAX_SCORES,
    csv_rows,
    newest_reports,
    tables,
    with_selected_scores,
    without_interval,
)
from turnwise.questions.question_sets import question_set, titled
from turnwise.studies.asks import About
from turnwise.studies.models import Study

_UNKNOWN = {"value": None}

View = Callable[..., HttpResponse]


def _sets(page: str, measured: Measured) -> tuple[Measured, ...]:
    """Question sets that the studies of a relation must ask."""
    return (measured,) if page == "perplexity" else (measured, HUMAN_LIKE)


def _bounded(group: str, rate: str) -> Callable[[View], View]:
    def decorate(view: View) -> View:
        @wraps(view)
        def within_bounds(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if too_often(request, group, rate=rate, key="user"):
                return too_many(request)
            return view(request, *args, **kwargs)

        return login_required(within_bounds)

    return decorate


# Signed-in users only, with rate limits: these pages read and draw more than others.
bounded = _bounded("compare", "60/m")
bounded_pictures = _bounded("compare-pictures", "240/m")


@require_GET
@bounded
def side_by_side(request: AuthenticatedHttpRequest) -> HttpResponse:
    form = StudiesForm(request.GET, user=request.user)
    studies = form.cleaned_data["study"] if form.is_valid() else []
    reports, requested = newest_reports(studies), request.GET.getlist("score")
    selected = [with_selected_scores(table, requested) for table in tables(reports)]
    leads = {report.study: reverse("reports:study", args=[report.pk]) for report in reports}
    drawn_of = {table["name"]: chart_sheets.table_sheets([table]) for table in selected}
    every = [sheet for of_table in drawn_of.values() for sheet in of_table]
    query = urlencode([*_study_parameters(studies), *(("score", each) for each in requested)])
    drawn = chart_sheets.charts(every, _address("studies"), query, {sheet.name: leads for sheet in every})
    with_report = {report.code for report in reports}
    context = {
        "form": form,
        "chosen": studies,
        "query": urlencode(_study_parameters(studies)),
        "reports": reports,
        "without": [study for study in studies if study.code not in with_report],
        "tables": [
            table
            | {
                "heading": _heading(table),
                "intervals": protocols.describe_levels(table["levels"]),
                "charts": [drawn[sheet.name] for sheet in drawn_of[table["name"]]],
                "reasons": without_interval(table),
                "repeated": repeated_studies(table["rows"]),
                "static_less_interactive": static_minus_interactive(table["rows"]),
            }
            for table in selected
        ],
        "most_picked": MAX_SCORES,
        "differences": differences(protocols.protocols_of(studies)),
        "over_time": offer_bots(history.bots_of(request.user), request.user),
    }
    return render(request, "comparisons/studies.html", context, status=_status(form))


def _heading(table: Mapping[str, Any]) -> str:
    """Title of a table: question set and subject."""
    key = table["question_set"]
    title = titled(question_set(key)) if key else ""
    about = {About.DIALOGUE: _("of whole conversations"), About.OWN_TURN: _("of people's own turns"),
             About.PAIR: _("of pairs"), About.CONTEXT: _("of contexts")}.get(table["subject"])  # fmt: skip
    return ", ".join(filter(None, [title, about]))


@require_GET
@bounded
def side_by_side_csv(request: HttpRequest) -> HttpResponse:
    form = StudiesForm(request.GET, user=request.user)
    if not form.is_valid():
        return HttpResponse(
            " ".join(map(str, form.errors["study"])), status=422, content_type="text/plain; charset=utf-8"
        )
    lines = csv_text([list(CSV_COLUMNS), *csv_rows(newest_reports(form.cleaned_data["study"]))])
    response = HttpResponse(lines, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="turnwise-studies.csv"'
    return response


@require_GET
@bounded
def relation(request: HttpRequest, page: str) -> HttpResponse:
    """Page of a question set's scores against `page`: perplexity or human-likeness."""
    related = _relation_page(request, page)
    data, measured = related.pairs, related.measured
    relations = data.figures["relations"] if data else []
    leads = {
        point["name"]: reverse("comparisons:bot", args=[point["bot"]]) + f"?{urlencode(measured.query)}"
        for point in (data.figures["points"] if data else [])
        if point["bot"]
    }
    drawn = chart_sheets.charts(
        related.sheets,
        _address(page),
        _page_query(request, related),
        {sheet.name: leads for sheet in related.sheets},
    )
    context = {
        "page": page,
        "form": related.form,
        "chosen": related.studies,
        "is_default": "study" not in request.GET,
        "most_studies": MOST_STUDIES,
        "by": _by(request),
        "marks": marks_of(measured) if _marks(request, page) else [],
        "has_marks": bool(marks_of(measured)),
        "scored": measured.questions,
        "measured": measured,
        "most_picked": MAX_SCORES,
        "offered": related.offered,
        "intervals": _intervals(related.studies),
        "titles": measured.titles,
        "pairs": data,
        "relations": [
            each
            | {
                "chart": drawn.get(f"relation-{each['key']}"),
                "published": published_r_squared(measured, page, each["key"]),
                "size": abs(each["line"]["slope"]["value"]) if "slope" in each["line"] else None,
            }
            for each in relations
        ],
        "coefficients": _coefficients(relations),
        "reasons": _reasons(relations),
        "point_reasons": [
            f"{point['name']}: {point['scores'][measured.leading]['undefined']}"
            for point in (data.figures["points"] if data else [])
            if "undefined" in point["scores"][measured.leading]
        ],
        "differences": [
            each
            for each in differences(protocols.protocols_of(related.studies))
            if len(_sets(page, measured)) == 1 or each.aspect != "Questions"
        ],
        "trouble": related.trouble,
    }
    return render(request, "comparisons/relation.html", context, status=_status(related.form))


@require_GET
@bounded_pictures
def chart(request: HttpRequest, page: str, name: str, ending: str) -> HttpResponse:
    if page == "studies":
        form = StudiesForm(request.GET, user=request.user)
        studies = form.cleaned_data["study"] if form.is_valid() else []
        requested = request.GET.getlist("score")
        selected = [with_selected_scores(table, requested) for table in tables(newest_reports(studies))]
        return chart_sheets.chart_file(request, chart_sheets.table_sheets(selected), name, ending)
    return chart_sheets.chart_file(request, _relation_page(request, page).sheets, name, ending)


@dataclass(frozen=True, slots=True)
class _RelationPage:
    """Data of a page of a relation, before its charts are drawn."""

    form: StudiesForm
    measured: Measured
    offered: Sequence[Measured]
    studies: Sequence[Study]
    pairs: pairs.RelationData | None
    sheets: Sequence[Sheet]
    trouble: str


def _relation_page(request: HttpRequest, page: str) -> _RelationPage:
    offered = offered_to(request.user)
    if page == "human-likeness":
        offered = [each for each in offered if each != HUMAN_LIKE]
    measured = chosen_of(offered, request.GET.get("questions", ""), request.GET.getlist("score"))
    form = StudiesForm(request.GET, user=request.user, of=_sets(page, measured))
    if not form.is_valid():
        return _RelationPage(form, measured, offered, [], None, [], "")
    studies = form.cleaned_data["study"] or form.newest()
    try:
        if page == "perplexity":
            data = pairs.against_perplexity(studies, measured)
        else:
            data = pairs.against_human_likeness(studies, measured, _by(request))
    except TooMuchError as error:
        return _RelationPage(form, measured, offered, studies, None, [], str(error))
    drawn = chart_sheets.relation_sheets(
        data.figures, measured, marks=_marks(request, page), percent=page == "human-likeness"
    )
    return _RelationPage(form, measured, offered, studies, data, drawn, "")


def _coefficients(relations: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of the table of coefficients: each coefficient with a cell for each score."""
    lines = [each["line"] for each in relations]
    if all("undefined" in line for line in lines):
        return []
    named = {"R² of the line": "r_squared", "Slope of the line": "slope", "The line at 0": "intercept"}
    fits = [
        {"name": name, "cells": [line.get(key, _UNKNOWN) for line in lines]} for name, key in named.items()
    ]
    correlations = zip(*(each["correlations"] for each in relations), strict=True)
    return [*fits, *({"name": cells[0]["name"], "cells": cells} for cells in correlations)]


def _reasons(relations: Sequence[Mapping[str, Any]]) -> list[str]:
    """Distinct reasons why coefficients have no interval."""
    unique: dict[str, None] = {}
    for each in relations:
        for cell in each["correlations"]:
            if cell["value"] is not None and "undefined" in cell:
                unique[f"{cell['name']} has no interval: {cell['undefined']}"] = None
    return list(unique)


def _by(request: HttpRequest) -> str:
    return "version" if request.GET.get("by") == "version" else "bot"


def _marks(request: HttpRequest, page: str) -> bool:
    return page == "perplexity" and request.GET.get("published") == "yes"


def _address(page: str) -> chart_sheets.Address:
    return lambda name, ending: reverse("comparisons:compare_chart", args=[page, name, ending])


def _study_parameters(studies: Sequence[Study]) -> list[tuple[str, object]]:
    return [("study", study.pk) for study in studies]


def _intervals(studies: Sequence[Study]) -> str:
    """Caption of the intervals of scores over several studies."""
    levels, level = protocols.levels_by_name(studies), percent(protocols.pooled_level(studies))
    if len({*levels.values()}) < 2:
        return _("%(level)s intervals") % {"level": level}
    return _("%(level)s intervals, as the studies' reports have different levels") % {"level": level}


def _page_query(request: HttpRequest, related: _RelationPage) -> str:
    """Query string that gives the same page even if new studies are created."""
    options = [(key, request.GET[key]) for key in ("by", "published") if key in request.GET]
    return urlencode([*_study_parameters(related.studies), *related.measured.query, *options])


def _status(form: StudiesForm) -> int:
    return 200 if form.is_valid() else 422
