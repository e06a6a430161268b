"""Pages of a bot's sweeps (how responses change with N and T): start, stop, continue, judge."""

import re
import secrets
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from evaluation.files.writing import csv_text, percent
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import too_many, too_often
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.bots.queries import can_sample, visible_bots
from turnwise.comparisons import chart_sheets, sweeps
from turnwise.comparisons.side_by_side import MAX_SCORES
from turnwise.comparisons.views import bounded, bounded_pictures
from turnwise.contexts.models import ContextSetVersion
from turnwise.contexts.queries import versions_of
from turnwise.live.jobs import send_or_warn
from turnwise.responses.models import ResponseRun, Sweep
from turnwise.responses.sweeps import (
    HIGHEST_T,
    LARGEST_N,
    MOST_N,
    MOST_T,
    Grid,
    cells,
    check,
    progress,
    reasons,
    resume_sweep,
    stamp,
    start_sweep,
    stop,
    sweeps_of,
)
from turnwise.responses.tasks import send_all

_BETWEEN = re.compile(r"[\s,;]+")
_DECIMAL_COMMA = re.compile(r"(?<![0-9.])0,[0-9]+")  # no temperature is 0
LONGEST = 100


class SweepForm(forms.Form):
    """Contexts to answer, and the values of N and T."""

    context_version = forms.ModelChoiceField(
        queryset=ContextSetVersion.objects.none(), label=gettext_lazy("Contexts"), empty_label=None
    )
    samples = forms.CharField(
        max_length=LONGEST,
        initial="1 4 20 100",
        label=gettext_lazy("Samples N"),
        help_text=gettext_lazy("Up to %(most)s numbers from 1 to %(largest)s, with spaces between.")
        % {"most": MOST_N, "largest": LARGEST_N},
    )
    temperatures = forms.CharField(
        max_length=LONGEST,
        initial="0.88 1",
        label=gettext_lazy("Temperatures T"),
        help_text=gettext_lazy("Up to %(most)s numbers above 0, up to %(highest)s, such as 0.88.")
        % {"most": MOST_T, "highest": f"{HIGHEST_T:g}"},
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=2**53,
        required=False,
        label=gettext_lazy("Seed"),
        help_text=gettext_lazy("The same seed gives the same responses. Empty: a random one."),
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["context_version"].queryset = versions_of(user)  # type: ignore[attr-defined]  # a choice

    def clean_samples(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(_whole(part) for part in _parts(self.cleaned_data["samples"])))

    def clean_temperatures(self) -> tuple[float, ...]:
        text = self.cleaned_data["temperatures"]
        if comma := _DECIMAL_COMMA.search(text):
            part = comma.group()
            raise ValidationError(
                gettext("“%(part)s” would be two numbers. Write a point: %(cure)s.")
                % {"part": part, "cure": part.replace(",", ".")}
            )
        return tuple(dict.fromkeys(_number(part) for part in _parts(text)))

    def clean_seed(self) -> int:
        seed: int | None = self.cleaned_data["seed"]
        return secrets.randbits(31) if seed is None else seed

    def clean(self) -> dict[str, Any]:
        """Add the `grid` if it is valid."""
        values = self.cleaned_data
        if {"samples", "temperatures", "context_version"} <= values.keys():
            values["grid"] = Grid(values["samples"], values["temperatures"])
            check(values["grid"], values["context_version"].size)
        return values


def _parts(text: str) -> list[str]:
    return [part for part in _BETWEEN.split(text) if part]


def _whole(part: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", part):
        raise ValidationError(
            gettext("“%(part)s” is not a whole number. Write numbers such as 1 20 100.") % {"part": part}
        )
    return int(part)


def _number(part: str) -> float:
    """Parse a temperature, rounded to four decimals."""
    if not re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,9})?|\.[0-9]{1,9}", part):
        raise ValidationError(
            gettext("“%(part)s” is not a number. Write numbers such as 0.88 1.") % {"part": part}
        )
    return round(float(part), 4)


LATEST = 50


_WORDS = {
    ResponseRun.State.RUNNING: gettext_lazy("Under way"),
    ResponseRun.State.DONE: gettext_lazy("Complete"),
    ResponseRun.State.CANCELLED: gettext_lazy("Stopped"),
}


def _sweep(request: HttpRequest, name: str, pk: int) -> Sweep:
    return get_object_or_404(sweeps_of(request.user), bot__name=name, pk=pk)


@bounded
def sweeps_of_bot(request: AuthenticatedHttpRequest, name: str) -> HttpResponse:
    """List a bot's sweeps, with the form of a new one: GET shows its cost, POST starts it."""
    bot = get_object_or_404(visible_bots(request.user), name=name)
    sent = request.POST or request.GET
    form = SweepForm(request.user, sent if "samples" in sent else None)
    if request.method == "POST" and form.is_valid():
        if too_often(request, "sweep", rate="20/h", key="user"):
            return too_many(request)
        if sweep := _start(request, bot, form):
            return redirect(sweep)
    rows = sweeps_of(request.user).filter(bot=bot)[:LATEST]
    context = {
        "bot": bot,
        "draws": can_sample(bot),
        "form": form,
        "cost": _cost(form),
        "sweeps": [{"sweep": each, "progress": progress(cells(each))} for each in rows],
    }
    return render(request, "comparisons/sweeps.html", context, status=422 if form.errors else 200)


def _start(request: AuthenticatedHttpRequest, bot: Bot, form: SweepForm) -> Sweep | None:
    values = form.cleaned_data
    try:
        sweep = start_sweep(
            bot, values["context_version"], values["grid"], owner=request.user, seed=values["seed"]
        )
    except ValidationError as error:
        form.add_error(None, error)
        return None
    send_or_warn(request, partial(send_all, sweep.runs.order_by("pk")))
    return sweep


def _cost(form: SweepForm) -> dict[str, Any] | None:
    """Cost of the chosen sweep; None without a valid choice."""
    if not form.is_bound or not form.is_valid():
        return None
    grid, contexts = form.cleaned_data["grid"], form.cleaned_data["context_version"].size
    return {
        "cells": len(grid.samples) * len(grid.temperatures),
        "contexts": f"{contexts:,}",
        "responses": f"{grid.responses(contexts):,}",
        "drawn": f"{grid.drawn(contexts):,}",
        "seed": form.cleaned_data["seed"],
    }


@require_GET
@bounded
def sweep(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    return _page(request, _sweep(request, name, pk))


def _page(request: HttpRequest, sweep: Sweep, *, refused: str = "") -> HttpResponse:
    rows, scored = cells(sweep), sweeps.scores(sweep, request.user)
    requested = request.GET.getlist("score")
    query = urlencode([("score", each) for each in requested])
    leads = {"sweep": sweeps.leads(rows, scored)}
    drawn = chart_sheets.charts(sweeps.sheets(rows, scored, requested), _address(sweep), query, leads)
    choices = sweeps.choices(scored, requested)
    columns = {each.value: scored.columns[each.value] for each in choices if each.is_shown}
    how_far = progress(rows)
    context = {
        "sweep": sweep,
        "bot": sweep.bot,
        "rows": sweeps.rows(rows, scored, columns),
        "columns": columns,
        "choices": choices,
        "most_picked": MAX_SCORES,
        "intervals": ", ".join(percent(each) for each in sorted({of.level for of in columns.values()})),
        "scores": scored,
        "progress": how_far,
        "state": how_far.state,
        "in_words": _WORDS[how_far.state],
        "reasons": reasons(rows),
        "version": next((each.run.bot_version for each in rows if each.run.bot_version_id), None),
        "chart": drawn.get("sweep"),
        "refused": refused,
        "stamp": stamp(rows),
    }
    return render(request, "comparisons/sweep.html", context, status=422 if refused else 200)


def _address(sweep: Sweep) -> chart_sheets.Address:
    of = [sweep.bot.name, sweep.pk]
    return lambda name, ending: reverse("comparisons:sweep_chart", args=[*of, ending])


@require_GET
@bounded_pictures
def sweep_chart(request: HttpRequest, name: str, pk: int, ending: str) -> HttpResponse:
    row = _sweep(request, name, pk)
    drawn = sweeps.sheets(cells(row), sweeps.scores(row, request.user), request.GET.getlist("score"))
    return chart_sheets.chart_file(request, drawn, "sweep", ending)


@require_GET
@bounded
def sweep_csv(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    row = _sweep(request, name, pk)
    lines = csv_text(sweeps.csv_rows(cells(row), sweeps.scores(row, request.user)))
    disposition = {"Content-Disposition": f'attachment; filename="turnwise-sweep-{pk}.csv"'}
    return HttpResponse(lines, content_type="text/csv; charset=utf-8", headers=disposition)


@require_GET
@bounded
def sweep_stamp(request: HttpRequest, name: str, pk: int) -> JsonResponse:
    """Version string of the sweep's page, which asks for it every few seconds."""
    return JsonResponse({"stamp": stamp(cells(_sweep(request, name, pk)))})


@require_POST
@bounded
def stop_sweep(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    row = _sweep(request, name, pk)
    if stop(row, now=timezone.now()):
        messages.success(request, _("The sweep is stopped. Its responses so far are kept."))
    return redirect(row)


@require_POST
@bounded
def continue_sweep(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    row = _sweep(request, name, pk)
    try:
        runs = resume_sweep(row)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        send_or_warn(request, partial(send_all, runs))
    return redirect(row)


@require_POST
@bounded
def judge_sweep(request: AuthenticatedHttpRequest, name: str, pk: int) -> HttpResponse:
    row = _sweep(request, name, pk)
    runs = [int(each) for each in request.POST.getlist("run") if each.isascii() and each.isdecimal()]
    try:
        study = sweeps.create_judging_study(row, runs[:1000], by=request.user)
    except ValidationError as error:
        return _page(request, row, refused=" ".join(error.messages))
    messages.success(
        request,
        _(
            "The study is a draft with a system for each pair of N and T. Enter the consent text and the "
            "pay, then open the study. Its scores appear in the sweep once it has a report."
        ),
    )
    return redirect("studies:edit", pk=study.pk)
