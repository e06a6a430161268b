"""Polling and downloads of a self-play study's page. The study is opened and closed like any other."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, JsonResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_GET

from turnwise.live.downloads import attachment
from turnwise.studies.queries import readable_studies_of
from turnwise.tasks.self_play import metrics, queries
from turnwise.tasks.self_play.models import SelfPlayPlan


@require_GET
@login_required
def stamp(request: HttpRequest, pk: int) -> JsonResponse:
    """A value that changes with the conversations; the page polls it every few seconds."""
    plan = _plan(request, pk)
    return JsonResponse({"stamp": queries.stamp(plan, queries.progress(plan))})


@require_GET
@login_required
def json_lines(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    plan = _plan(request, pk)
    name = f"turnwise-{plan.study.code}-self-play.jsonl"
    return attachment(request, queries.json_lines(plan), "application/jsonl", name)


@require_GET
@login_required
def measures_csv(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    """Download the metrics of each turn, for conversations that a report has measured."""
    study = _plan(request, pk).study
    name = f"turnwise-{study.code}-measures.csv"
    return attachment(request, metrics.csv_lines(study), "text/csv; charset=utf-8", name)


def _plan(request: HttpRequest, pk: int) -> SelfPlayPlan:
    plans = SelfPlayPlan.objects.filter(study__in=readable_studies_of(request.user)).select_related("study")
    return get_object_or_404(plans, study=pk)
