"""Decisions about workers on the page *Quality*, their CSV file, and the panels' files for bulk payment.

Payment files are made from the ledger, without participations that are marked as paid.
"""

from collections.abc import Generator

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from evaluation.files.writing import csv_text
from turnwise.crowd.models import PanelAct, Participation
from turnwise.crowd.pay import panel_acts
from turnwise.live.downloads import attachment
from turnwise.quality import decisions
from turnwise.quality.decisions import decisions_by_participation
from turnwise.quality.models import Decision
from turnwise.quality.study_views import study_with_workers
from turnwise.studies.models import Study
from turnwise.studies.sharing.permissions import Permission

COLUMNS = ("worker", "decision", "reason", "by", "at", "undone_at", "undone_by")


@require_POST
@login_required
def decide(request: HttpRequest, pk: int, participation: int) -> HttpResponse:
    study = study_with_workers(request, pk, Permission.REVIEW)
    participant = get_object_or_404(study.participations.select_related("worker"), pk=participation)
    assert request.user.is_authenticated
    try:
        made = decisions.decide(
            participant,
            request.POST.get("action", ""),
            reason=request.POST.get("reason", ""),
            by=request.user,
            category=request.POST.get("category", ""),
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(
            request,
            _("%(worker)s: %(decision)s.") % {"worker": made.worker, "decision": made.get_action_display()},
        )
    return redirect("quality:study", pk=pk)


@require_POST
@login_required
def undo(request: HttpRequest, pk: int, decision: int) -> HttpResponse:
    study = study_with_workers(request, pk, Permission.REVIEW)
    made = get_object_or_404(study.decisions, pk=decision)
    assert request.user.is_authenticated
    try:
        decisions.undo(made, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, _("Undone. Both lines stay in the list of decisions."))
    return redirect("quality:study", pk=pk)


@require_GET
@login_required
def decisions_csv(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    study = study_with_workers(request, pk, Permission.REVIEW)
    name = f"turnwise-{study.code}-decisions.csv"
    return attachment(request, _lines(study), "text/csv; charset=utf-8", name)


def _lines(study: Study) -> Generator[str]:
    yield csv_text([COLUMNS])
    made = study.decisions.exclude(action=Decision.Action.UNDO).select_related("undone_by").order_by("pk")
    for each in made.iterator():
        undone: Decision | None = getattr(each, "undone_by", None)
        at = undone.at.isoformat(timespec="seconds") if undone else ""
        row = (each.worker, each.action, each.reason, each.by, each.at.isoformat(timespec="seconds"))
        yield csv_text([(*row, at, undone.by if undone else "")])


Action = Decision.Action
Rows = Generator[str]

MTURK_REVIEW = ("AssignmentId", "WorkerId", "Approve", "Reject")
MTURK_BONUS = ("WorkerId", "AssignmentId", "BonusAmount", "Reason")


@require_GET
@login_required
def panel_file(request: HttpRequest, pk: int, name: str) -> StreamingHttpResponse:
    study = study_with_workers(request, pk, Permission.PAY)
    if name not in FILES:
        raise Http404("There is no such file.")
    return attachment(
        request, FILES[name](study), "text/csv; charset=utf-8", f"turnwise-{study.code}-{name}.csv"
    )


def _rejected(study: Study, people: list[Participation]) -> dict[int, str]:
    """Reasons of active rejections, by participation."""
    made = decisions_by_participation(study, [each.pk for each in people])
    return {
        key: one.reason
        for key, decisions in made.items()
        for one in decisions
        if one.action == Action.REJECT and not hasattr(one, "undone_by")
    }


def _paid_by_approval(study: Study, panel: str) -> list[Participation]:
    people = panel_acts.paid_by_approval(study, panel=panel)
    rejected = _rejected(study, people)
    return [each for each in people if each.pk not in rejected]


def prolific_approve(study: Study) -> Rows:
    """Submissions to approve, one on each line, for Prolific's bulk approval."""
    requested = PanelAct.objects.filter(study=study, kind=PanelAct.Kind.APPROVE).exclude(state="failed")
    known = set(requested.values_list("participation", flat=True))
    for each in _paid_by_approval(study, "prolific"):
        if each.pk not in known:
            yield csv_text([(each.submission,)])


def prolific_bonus(study: Study) -> Rows:
    """Lines `submission,amount` for Prolific's bulk bonus payments: amounts that approval does not pay."""
    requested = PanelAct.objects.filter(study=study, kind=PanelAct.Kind.BONUS)
    known = set(requested.values_list("participation", flat=True))
    for each, amount in panel_acts.due_beyond_approval(study, panel="prolific"):
        if each.pk not in known:
            yield csv_text([(each.submission, f"{amount:.2f}")])


def mturk_review(study: Study) -> Rows:
    """CSV for Mechanical Turk's *Upload CSV*: an x approves, a text rejects with that feedback."""
    yield csv_text([MTURK_REVIEW])
    people = panel_acts.paid_by_approval(study, panel="mturk")
    rejected = _rejected(study, people)
    for each in people:
        why = rejected.get(each.pk, "")
        yield csv_text([(each.submission, each.worker.panel_id, "" if why else "x", why)])


def mturk_bonus(study: Study) -> Rows:
    """Arguments of Mechanical Turk's SendBonus, one row per bonus."""
    yield csv_text([MTURK_BONUS])
    for each, amount in panel_acts.due_beyond_approval(study, panel="mturk"):
        reason = _("Your work in “%(title)s”") % {"title": study.title}
        yield csv_text([(each.worker.panel_id, each.submission, f"{amount:.2f}", reason)])


FILES = {
    "prolific-approve": prolific_approve,
    "prolific-bonus": prolific_bonus,
    "mturk-review": mturk_review,
    "mturk-bonus": mturk_bonus,
}
