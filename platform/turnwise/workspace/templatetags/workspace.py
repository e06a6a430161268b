"""Template tags and filters of staff pages: navigation, form summaries, flags, measures, audits, previews."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django import template
from django.forms import BoundField, ChoiceField
from django.template.context import Context
from django.urls import reverse
from django.utils.translation import gettext as _

from evaluation.conversation.grounding import LIMITS
from turnwise.acceptance.queries import ReviewRow
from turnwise.accounts.models import User
from turnwise.audits import queries
from turnwise.audits.identity_leaks import BlindnessCheck, blindness
from turnwise.audits.queries import Result
from turnwise.bots.models import Bot
from turnwise.crowd.models import Participation
from turnwise.crowd.worker_task import WorkerTask
from turnwise.quality.flagging import describe_flag
from turnwise.quality.models import Flag
from turnwise.reports.report_kinds import ReportedTask, TaskWithReport
from turnwise.studies.models import Study
from turnwise.studies.queries import real_studies_of
from turnwise.studies.sharing.permissions import Permission, permissions_of
from turnwise.studies.tasks import task_of
from turnwise.workspace.study_steps import Step, next_step

register = template.Library()


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the navigation bar.

    Attributes:
        here: value of `aria-current`: "page" for the current page, "true" for its parent, else "".
    """

    title: str
    icon: str
    address: str
    here: str


@register.simple_tag(takes_context=True)
def next_step_of(context: Context, study: Study) -> Step | None:
    """Next step of the study for people who work on it; None for others or if there is none."""
    request = context.get("request")
    if study.rehearsal_of_id or (request and not _works_on(context, study)):
        return None
    return next_step(study)


@register.simple_tag(takes_context=True)
def permissions_on(context: Context, study: Study) -> dict[str, bool]:
    """Permissions of the reader on the study by name, such as `change`; looked up once per page."""
    request = context["request"]
    known: dict[int | None, dict[str, bool]] = request.__dict__.setdefault("permissions_on_studies", {})
    if study.pk not in known:
        granted = permissions_of(request.user, study)
        known[study.pk] = {permission.value: permission in granted for permission in Permission}
    return known[study.pk]


def _works_on(context: Context, study: Study) -> bool:
    return permissions_on(context, study)["change"]


@register.simple_tag(takes_context=True)
def pages_of(context: Context, study: Study) -> list[Page]:
    """Pages of the study's navigation bar, in order."""
    task, request = task_of(study), context.get("request")
    works_on_it = request is None or _works_on(context, study)
    reviews = works_on_it or permissions_on(context, study)["review"]
    found = [(_("Study"), "flask-conical", study.get_absolute_url())]
    if reviews and isinstance(task, WorkerTask):
        found += [(_("Monitor"), "square-activity", reverse("monitoring:monitor", args=[study.pk]))]
    if task.has_conversations:
        found += [(_("Conversations"), "messages-square", reverse("labels:dialogues", args=[study.pk]))]
    elif isinstance(task, ReportedTask):
        found += [(_("Items"), "list-checks", reverse(task.read_at, args=[study.pk]))]
    if works_on_it and isinstance(task, WorkerTask) and not study.rehearsal_of_id:
        found += [(_("Participants"), "users", reverse("crowd:participants", args=[study.pk]))]
    if reviews and isinstance(task, WorkerTask) and not study.rehearsal_of_id:
        found += [(_("Quality"), "shield-check", reverse("quality:study", args=[study.pk]))]
    if isinstance(task, TaskWithReport):
        found += [(_("Results"), "trending-up", reverse("reports:study", args=[study.pk]))]
    path, study_path = (request.path if request else ""), study.get_absolute_url()
    under = [each for _, _, each in found if path.startswith(each) or each == context.get("within_address")]
    here = next((each for each in under if each != study_path), study_path)
    return [
        Page(title, icon, each, "" if each != here else "page" if each == path else "true")
        for title, icon, each in found
    ]


@register.filter
def option_label(field: BoundField) -> str:
    """Label of the chosen option of a select field; the raw value if it is no option."""
    assert isinstance(field.field, ChoiceField)
    value = str(field.value())
    return _words(field.field.choices).get(value, value)


def _words(choices: Any) -> dict[str, str]:
    """The words by value; groups of choices have a list for words."""
    found: dict[str, str] = {}
    for key, words in choices:
        found |= _words(words) if isinstance(words, list | tuple) else {str(key): str(words)}
    return found


@register.simple_tag
def flagged_in(study: Study) -> int:
    """Number of workers of a study with flags."""
    return study.participations.filter(flags__isnull=False).distinct().count()


@register.simple_tag
def flags_of(study: Study, rows: Iterable[Participation]) -> dict[int, list[str]]:
    """Flags in words by worker, from all of their participations in the study."""
    theirs = Flag.objects.filter(
        participation__study=study, participation__worker__in={r.worker_id for r in rows}
    )
    found: dict[int, list[str]] = defaultdict(list)
    for flag in theirs.select_related("participation"):
        found[flag.participation.worker_id].append(describe_flag(flag.kind, flag.figures))
    return dict(found)


@register.filter
def of_worker(flags: dict[int, list[str]], worker: int) -> list[str]:
    """Flags of one worker in the result of `flags_of`."""
    return flags.get(worker, [])


@register.filter
def measures_of(row: ReviewRow) -> list[tuple[str, str, bool]]:
    """Title, value and whether it is beyond its limit, of each measure that is known."""
    return [
        (_(LIMITS[key].title), _format_value(value, LIMITS[key].is_share), is_broken)
        for key, (value, is_broken) in row.measured.items()
        if value is not None
    ]


def _format_value(value: float, is_share: bool) -> str:
    if is_share:
        return f"{100 * value:.0f}\u00a0%"
    return f"{value:.0f}" if value == int(value) else f"{value:.1f}"


@register.simple_tag
def newest_audit(bot: Bot) -> Result | None:
    """The result of the bot's newest complete audit."""
    return next(iter(queries.newest_of(Bot.objects.filter(pk=bot.pk))), None)


@register.simple_tag
def blindness_of(study: Study) -> BlindnessCheck | None:
    """Identity leaks of a study."""
    return blindness(study)


@register.filter
def result_of(results: dict[int, Result], pk: int) -> Result | None:
    """The result of an audit, by its key."""
    return results.get(pk)


MOST = 8


@register.simple_tag
def studies_to_preview(user: User) -> list[Study]:
    """The newest studies of a person whose worker pages have a preview."""
    newest = real_studies_of(user).filter(archived_at=None).order_by("-pk")[: 5 * MOST]
    return [study for study in newest if isinstance(task_of(study), WorkerTask)][:MOST]
