"""Studies in which a translator sees a language."""

from django import template

from turnwise.accounts.models import User
from turnwise.crowd.worker_task import WorkerTask
from turnwise.studies.models import Study
from turnwise.studies.queries import real_studies_of
from turnwise.studies.tasks import task_of

register = template.Library()

MOST = 8


@register.simple_tag
def studies_to_preview(user: User) -> list[Study]:
    """The newest studies of a person whose worker pages have a preview."""
    newest = real_studies_of(user).filter(archived_at=None).order_by("-pk")[: 5 * MOST]
    return [study for study in newest if isinstance(task_of(study), WorkerTask)][:MOST]
