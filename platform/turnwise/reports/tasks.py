from celery import shared_task
from django.utils import timezone

from turnwise.reports import page, services


@shared_task
def build_report(report_id: int) -> None:
    services.build_report(report_id)
    page.render_in_advance(report_id)


@shared_task
def refresh_stale_reports() -> None:
    """Start reports of studies with new results, and restart lost ones."""
    now = timezone.now()
    for study in services.stale_studies(now):
        build_report.delay(services.queue_report(study).pk)
    for report_id in services.lost_reports(now):
        build_report.delay(report_id)
