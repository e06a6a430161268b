from functools import partial

from celery import shared_task
from django.db import transaction
from django.utils import timezone

from reports import services
from reports.models import Report
from studies.models import Study


@shared_task
def build_report(report_id: int) -> None:
    services.build_report(report_id)


@shared_task
def refresh_stale_reports() -> None:
    """Start the reports that results of the last seconds call for; take up those that were lost."""
    now = timezone.now()
    for study in services.stale_studies(now):
        request_report(study)
    for report_id in services.lost_reports(now):
        build_report.delay(report_id)


def request_report(study: Study) -> Report:
    """Queue a report and start its job once other processes can see it."""
    with transaction.atomic():
        report = services.queue_report(study)
        transaction.on_commit(partial(build_report.delay, report.pk))
    return report
