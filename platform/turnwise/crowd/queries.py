"""Read queries on participations: progress per bot, look-up by code, and the list of a study."""

import re
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from turnwise.bots.models import Bot
from turnwise.crowd.entry.sessions import Session
from turnwise.crowd.models import CODED, Assignment, Outcome, Participation, Worker
from turnwise.crowd.places.reservation import current_phase_assignments, holding
from turnwise.studies.models import Study, StudyBot
from turnwise.studies.queries import count_expression
from turnwise.studies.tasks import Rows


@dataclass(frozen=True, slots=True)
class BotProgress:
    """Progress of one bot of a study: conversations finished, open, and its target."""

    study_bot_id: int
    of: Bot
    bot: str
    finished: int
    open: int
    target: int

    @property
    def percent(self) -> int:
        return min(100, round(100 * self.finished / self.target)) if self.target else 100


def conversation_counts(studies: QuerySet[Study]) -> Rows:
    """Rows of (study key, finished conversations, sum of the targets of its bots)."""
    complete = current_phase_assignments(studies).filter(outcome=Outcome.COMPLETE, study_bot__isnull=False)
    # Grouped rows of the bots would count the conversations once for each bot.
    targets = StudyBot.objects.filter(study=OuterRef("pk")).order_by().values("study")
    wanted = Coalesce(Subquery(targets.annotate(n=Sum("target")).values("n")), 0)
    each = studies.order_by().annotate(study=F("pk"))
    return each.values_list("study", count_expression(complete), wanted)


def progress(study: Study, *, now: datetime | None = None) -> list[BotProgress]:
    counted = current_phase_assignments(Study.objects.filter(pk=study.pk))
    rows = study.study_bots.select_related("bot").annotate(
        finished=_of_bot(counted.filter(outcome=Outcome.COMPLETE)),
        open=_of_bot(counted.filter(holding(now or timezone.now()))),
    )
    talked_to = [row for row in rows if not row.bot.is_outside]
    return [
        BotProgress(row.pk, row.bot, row.bot.title, row.finished, row.open, row.target) for row in talked_to
    ]


def _of_bot(assignments: QuerySet[Assignment]) -> Coalesce:
    """Expression that counts the assignments of each study bot."""
    per_bot = assignments.filter(study_bot=OuterRef("pk")).order_by().values("study_bot")
    return Coalesce(Subquery(per_bot.annotate(n=Count("*")).values("n")), 0)


def participations_of(study: Study, sought: str = "") -> QuerySet[Participation]:
    """Participations of a study, newest first.

    Args:
        study: the study.
        sought: completion code, panel ID or pseudonym to look for; empty returns all. Completion codes are
            found only after the worker has seen them.
    """
    listed = Participation.objects.filter(study=study).select_related(
        "worker", "assignment", "entered_by", "withdrawal"
    )
    if sought:
        # One query per index; all codes and pseudonyms are in capitals.
        in_study, capitals = Participation.objects.filter(study=study), sought.upper()
        by_code = in_study.filter(completion_code=capitals, assignment__outcome__in=CODED)
        workers = list(Worker.objects.filter(panel_id=sought).values_list("pk", flat=True))
        by_name = in_study.filter(pseudonym=capitals) | in_study.filter(worker__in=workers)
        listed = listed.filter(
            pk__in=[*by_code.values_list("pk", flat=True), *by_name.values_list("pk", flat=True)]
        )
    return listed.order_by("-consented_at", "-pk")


def participation_of(session: Session | None, study: Study) -> Participation | None:
    """Newest participation in this study that the browser's session may enter."""
    if session is None:
        return None
    entered = Participation.objects.filter(pk__in=session.participations, study=study)
    return entered.select_related("assignment", "worker", "study").order_by("pk").last()


def participation_by_resume_code(code: str, study: Study) -> Participation | None:
    """Find a participation by its resume code, in any case, with or without hyphen and spaces."""
    letters = re.sub(r"[^A-Z0-9]", "", code.upper())
    if len(letters) != 10:
        return None
    dashed = f"{letters[:5]}-{letters[5:]}"
    return (
        Participation.objects.filter(resume_code=dashed, study=study)
        .select_related("assignment", "worker", "study")
        .first()
    )
