from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from turnwise.contexts.models import Context
from turnwise.crowd.spend import people_for
from turnwise.crowd.work import WorkerTask
from turnwise.rehearsals.rehearsed import Crowd, RehearsedTask
from turnwise.studies.models import Study
from turnwise.studies.planned import Planned, Unit, number
from turnwise.studies.progress import counts_of
from turnwise.studies.services import Plan
from turnwise.studies.tasks import Rows, Share, Stage, copied_row, register
from turnwise.tasks.writing import rehearsal
from turnwise.tasks.writing.forms import WritingPage
from turnwise.tasks.writing.models import WritingPlan
from turnwise.tasks.writing.previewed import WritingPreviewed
from turnwise.tasks.writing.queries import written_and_wanted
from turnwise.tasks.writing.services import is_written, write_again


@register
class Writing(WorkerTask, RehearsedTask):
    """Workers write responses to given contexts; others judge them."""

    key = "writing"
    title = "Write responses to given contexts"
    menu = "Write responses"
    order = 2
    form = WritingPage
    overview = "tasks/writing/overview.html"
    manual = "static-evaluation"
    namespace = "writing"
    unit = Unit.RESPONSE
    way = (Stage.DESIGN, Stage.PREVIEW, Stage.REHEARSE, Stage.RECRUIT, Stage.MONITOR, Stage.JUDGE)

    begin = "writing:start"
    go_on = "writing:write"
    heading = _("Write what you would say")
    welcome = "tasks/writing/welcome.html"
    instructions = "tasks/writing/instructions.html"
    saved = _("All your responses are saved.")
    previewed = WritingPreviewed

    enough = _("%(n)s write all that is wanted, or as much of it as they can.")

    @override
    def why_not_open(self, study: Study) -> str:
        if hasattr(study, "writing"):
            return ""
        return "Choose the contexts that people should respond to, then open the study."

    @override
    def plan_of_copy(self, study: Study) -> Plan | None:
        plan: Plan | None = copied_row(getattr(study, "writing", None))
        return plan

    @override
    def holds(self, study: Study) -> Mapping[str, int]:
        plan = getattr(study, "writing", None)
        return {"contexts": plan.context_version.size if plan else 0}

    @override
    def pilot_over(self, study: Study) -> None:
        write_again(study)

    @override
    def finished_and_wanted(self, studies: QuerySet[Study]) -> Rows:
        return written_and_wanted(studies)

    @override
    def planned(self, study: Study | None, sent: Mapping[str, str], wanted: Sequence[int]) -> Planned | None:
        each, share = (
            number(sent.get("writing-responses_per_context")),
            number(sent.get("writing-batch_size")),
        )
        version = number(sent.get("writing-context_version"))
        contexts = Context.objects.filter(version=version).count()
        if not (contexts and each and share):
            return None
        responses = contexts * each
        return Planned(Unit.RESPONSE, responses, people_for(responses, Share(share, each)))

    @override
    def shares(self, studies: QuerySet[Study]) -> Rows:
        plans = WritingPlan.objects.filter(study__in=studies)
        return plans.values_list("study", "batch_size", "responses_per_context")

    @override
    def shown(self, study: Study) -> Mapping[str, Any]:
        written, _wanted = counts_of([study]).get(study.pk, (0, 0))
        return {"written": written}

    @override
    def is_full(self, study: Study, now: datetime) -> bool:
        return is_written(study, now)

    @override
    def enough_workers(self, study: Study) -> int:
        return rehearsal.enough_workers(study)

    @override
    def copied(self, study: Study, workers: int) -> Study:
        return rehearsal.with_contexts(study, workers)

    @override
    def crowd(self, rehearsed: Study, server: str, workers: int) -> Crowd:
        return rehearsal.writers(rehearsed, server, workers)
