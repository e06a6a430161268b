import re
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from turnwise.bots.models import Bot
from turnwise.crowd.entry.sessions import Session
from turnwise.crowd.models import CODED, Assignment, Outcome, Participation, Worker
from turnwise.crowd.places.reservation import current_phase_assignments, holding
from turnwise.studies.models import Study, StudyBot
from turnwise.studies.queries import number_of
from turnwise.studies.tasks import Rows


@dataclass(frozen=True, slots=True)
class BotProgress:
    """How far one bot of a study is: conversations finished, under way, and wanted."""

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
    """Of each study its key, its finished conversations, and how many are wanted of all its bots."""
    complete = current_phase_assignments(studies).filter(outcome=Outcome.COMPLETE, study_bot__isnull=False)
    bots = StudyBot.objects.filter(study__in=studies).values_list("study").order_by()
    return bots.annotate(finished=number_of(complete), wanted=Sum("target"))


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
    """How many of them a bot of a study has, as an expression of it."""
    own = assignments.filter(study_bot=OuterRef("pk")).order_by().values("study_bot")
    return Coalesce(Subquery(own.annotate(n=Count("*")).values("n")), 0)


def participations_of(study: Study, sought: str = "") -> QuerySet[Participation]:
    """Everybody who agreed to take part, newest first.

    Of these only whoever has the completion code, panel id or pseudonym sought. A completion code is found
    only once it was given.
    """
    found = Participation.objects.filter(study=study).select_related(
        "worker", "assignment", "entered_by", "withdrawal"
    )
    if sought:
        # Each by its own index; all codes and pseudonyms are in capitals.
        own, capitals = Participation.objects.filter(study=study), sought.upper()
        given = own.filter(completion_code=capitals, assignment__outcome__in=CODED)
        workers = list(Worker.objects.filter(panel_id=sought).values_list("pk", flat=True))
        named = own.filter(pseudonym=capitals) | own.filter(worker__in=workers)
        found = found.filter(
            pk__in=[*given.values_list("pk", flat=True), *named.values_list("pk", flat=True)]
        )
    return found.order_by("-consented_at", "-pk")


def participation_of(session: Session | None, study: Study) -> Participation | None:
    """The participation in this study that the browser with this session may enter."""
    if session is None:
        return None
    entered = Participation.objects.filter(pk__in=session.participations, study=study)
    return entered.select_related("assignment", "worker", "study").order_by("pk").last()


def participation_by_resume_code(code: str, study: Study) -> Participation | None:
    """Codes may be typed in any case, with or without the hyphen or spaces."""
    letters = re.sub(r"[^A-Z0-9]", "", code.upper())
    if len(letters) != 10:
        return None
    dashed = f"{letters[:5]}-{letters[5:]}"
    return (
        Participation.objects.filter(resume_code=dashed, study=study)
        .select_related("assignment", "worker", "study")
        .first()
    )
