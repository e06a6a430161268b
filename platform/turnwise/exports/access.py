"""Studies whose results a person may export, and the note that somebody did."""

from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, OuterRef, Q, QuerySet

from turnwise.accounts.models import User
from turnwise.judging.queries import judgments_in
from turnwise.reports.report_kinds import ReportedTask, TaskWithReport
from turnwise.studies.asks import About
from turnwise.studies.bundles import record_export
from turnwise.studies.models import Ask, Study
from turnwise.studies.queries import readable_studies_of, studies_of
from turnwise.studies.sharing.permissions import Permission
from turnwise.studies.tasks import keys_of


def exported_studies_of(user: User | AnonymousUser) -> QuerySet[Study]:
    """Studies whose labels the user may export: all with labels that they may read."""
    asked = Ask.objects.filter(study=OuterRef("pk"), about=About.PERSON)
    return readable_studies_of(user).filter(Q(task__in=keys_of(ReportedTask)) | Exists(asked))


def bundled_studies_of(user: User | AnonymousUser) -> QuerySet[Study]:
    """Studies whose bundle the user may make and download."""
    return studies_of(user, Permission.BUNDLE).filter(task__in=keys_of(TaskWithReport))


def note_export(study: Study) -> None:
    """Record that the study's labels were exported, for the steps on its page."""
    record_export(study.pk, results_version=study.results_version, judgments=judgments_in(study))
