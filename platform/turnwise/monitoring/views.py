from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET

from turnwise.bots import drift_check
from turnwise.bots.budgets import reached_budgets
from turnwise.bots.models import Bot
from turnwise.crowd.places import pilot
from turnwise.crowd.running.pausing import running_state
from turnwise.crowd.worker_task import WorkerTask
from turnwise.judges.drift_checks import services as judge_checks
from turnwise.monitoring.monitor import monitor as monitored
from turnwise.studies.queries import studies_of
from turnwise.studies.sharing.permissions import Permission
from turnwise.studies.tasks import task_of


@require_GET
@login_required
def monitor(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(
        studies_of(request.user, Permission.REVIEW).select_related("requirement__qualification"), pk=pk
    )
    task = task_of(study)
    if not isinstance(task, WorkerTask):
        return redirect(study)
    seen = monitored(study)
    over_budget = [bot.name for bot in seen.bots if bot.is_over_budget]
    context = {
        "study": study,
        "monitor": seen,
        "running": running_state(study),
        "pilot": pilot.pilot_progress(study, timezone.now()) if study.pilot_size else None,
        "chats": task.has_conversations,
        "drift": drift_check.alarms(Bot.objects.filter(study_bots__study=study)) if seen.bots else [],
        "drifted_judges": [] if task.has_conversations else judge_checks.alarms(study.judge_runs.all()),
        "budgets": reached_budgets(Bot.objects.filter(name__in=over_budget)) if over_budget else [],
    }
    return render(request, "monitoring/monitor.html", context)
