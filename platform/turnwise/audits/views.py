"""Pages of a bot's audits, with starting, stopping and judging them."""

from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from chatbots.identity.audit import WARNING, Answered
from chatbots.identity.replies import Group
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import too_many, too_often
from turnwise.audits import queries, services, tasks, verdicts
from turnwise.audits.models import Audit
from turnwise.audits.verdicts import group_caption
from turnwise.bots.models import Bot
from turnwise.bots.queries import bot_status, changeable_by, visible_bots
from turnwise.live.jobs import send_or_warn
from turnwise.responses.bot_jobs import AT_WORK
from turnwise.studies.queries import studies_of

PER_PAGE = 25
LATEST = 50


@require_GET
@login_required
def audits(request: HttpRequest, name: str) -> HttpResponse:
    bot = get_object_or_404(visible_bots(request.user), name=name)
    rows = list(queries.audits_of(request.user).filter(bot=bot)[:LATEST])
    context = {
        "bot": bot,
        "standing": bot_status(bot),
        "audits": rows,
        "results": {result.audit.pk: result for result in queries.results(rows)},
        "may_change": _may_change(request, bot),
        "is_under_way": any(each.state in AT_WORK for each in rows),
    }
    return render(request, "audits/audits.html", context)


def _may_change(request: HttpRequest, bot: Bot) -> bool:
    return changeable_by(request.user).filter(pk=bot.pk).exists()


@require_POST
@login_required
def start(request: AuthenticatedHttpRequest, name: str) -> HttpResponse:
    bot = get_object_or_404(changeable_by(request.user), name=name)
    if too_often(request, "audit", rate="20/h", key="user"):
        return too_many(request)
    try:
        audit = services.start(bot, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("audits:audits", name=name)
    send_or_warn(request, partial(tasks.send, audit.pk))
    return redirect(audit)


@require_GET
@login_required
def audit(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    row = _audit(request, name, pk)
    answers = queries.answers_of([row])[row.pk]
    had, total = queries.progress(row)
    is_done = row.state == Audit.State.DONE
    published, rows = queries.compare_with_published(answers) if is_done else ([], [])
    selected = _filter(request)
    listed = [each for each in answers if _matches_filter(each, *selected)]
    context: dict[str, Any] = {
        "bot": row.bot,
        "audit": row,
        "had": had,
        "wanted": total,
        "is_at_work": row.state in AT_WORK,
        "is_done": is_done,
        "stamp": queries.stamp(row),
        "shares": queries.shares(answers) if is_done else [],
        "published": published,
        "rows": rows,
        "warning": WARNING,
        "agreement": _agreement(row) if is_done else None,
        "study": studies_of(request.user).filter(pk=row.study_id).first() if row.study_id else None,
        "may_change": _may_change(request, row.bot),
        "parts": queries.PARTS,
        "groups": {group.name.lower(): group_caption(group) for group in Group},
        "part": selected[0],
        "group": selected[1],
        "page": Paginator([queries.reply_row_of(each) for each in listed], PER_PAGE).get_page(
            request.GET.get("page")
        ),
        "any_replies": bool(answers),
    }
    return render(request, "audits/audit.html", context)


def _audit(request: HttpRequest, name: str, pk: int) -> Audit:
    return get_object_or_404(queries.audits_of(request.user), bot__name=name, pk=pk)


def _agreement(audit: Audit) -> Any:
    from turnwise.audits.agreement import agreement  # brings scipy, which no other page needs

    return agreement(audit)


def _filter(request: HttpRequest) -> tuple[str, str]:
    """Part and group to list; unknown values are ignored."""
    part, group = request.GET.get("part", ""), request.GET.get("group", "")
    groups = {each.name.lower() for each in Group}
    return part if part in queries.PARTS else "", group if group in groups else ""


def _matches_filter(answer: Answered, part: str, group: str) -> bool:
    is_of_group = not group or answer.group is Group[group.upper()]
    return is_of_group and (not part or queries.part_of(answer) == part)


@require_GET
@login_required
def stamp(request: HttpRequest, name: str, pk: int) -> JsonResponse:
    """Stamp that changes whenever the audit's page does; the page polls it."""
    return JsonResponse({"stamp": queries.stamp(_audit(request, name, pk))})


@require_GET
@login_required
def replies_csv(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    row = _audit(request, name, pk)
    disposition = {"Content-Disposition": f'attachment; filename="turnwise-audit-{pk}.csv"'}
    written = verdicts.csv_lines(row, queries.answers_of([row])[row.pk])
    return HttpResponse("".join(written), content_type="text/csv; charset=utf-8", headers=disposition)


def _changeable_audit(request: HttpRequest, name: str, pk: int) -> Audit:
    bots = changeable_by(request.user)
    return get_object_or_404(Audit.objects.filter(bot__in=bots), bot__name=name, pk=pk)


@require_POST
@login_required
def stop(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    row = _changeable_audit(request, name, pk)
    if services.stop(row, now=timezone.now()):
        messages.success(request, _("The audit is stopped. What the bot said so far is kept."))
    return redirect(row)


@require_POST
@login_required
def judge(request: AuthenticatedHttpRequest, name: str, pk: int) -> HttpResponse:
    row = _changeable_audit(request, name, pk)
    first_only = request.POST.get("which") != "all"
    try:
        study = verdicts.create_rater_study(row.pk, by=request.user, first_only=first_only)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect(row)
    messages.success(
        request,
        _(
            "The study is a draft: write what workers agree to and what they are paid, then open it. Two of "
            "them judge each reply, a third where they differ."
        ),
    )
    return redirect("studies:edit", pk=study.pk)
