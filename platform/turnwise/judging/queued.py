from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from turnwise.crowd.work import WorkerTask
from turnwise.judging.batteries import battery_of, why_unfit
from turnwise.judging.costs import planned_of_queue
from turnwise.judging.counting import ask_counts
from turnwise.judging.filling import asked_anew
from turnwise.judging.queries import judged_and_wanted, shares
from turnwise.judging.services import is_judged, judge_again
from turnwise.judging.training import tries_of
from turnwise.studies.models import Study
from turnwise.studies.planned import Planned, Unit
from turnwise.studies.services import Plan
from turnwise.studies.tasks import Rows, copied_row


class QueuedTask(WorkerTask):
    """A task whose workers judge the items of a queue: each by as many of them as its plan says.

    Attributes:
        filled_at: name of the address where items are added; empty: on the page of the queue itself.
        has_batteries: whether its workers may each get a battery of them instead.
    """

    filled_at: ClassVar[str] = ""
    has_batteries: ClassVar[bool] = False
    unit = Unit.JUDGMENT
    saved: ClassVar[str | Promise] = _("All your answers are saved.")
    read_at: ClassVar[str] = "judging:items"

    @override
    def is_full(self, study: Study, now: datetime) -> bool:
        return is_judged(study, now)

    @override
    def trains(self, study: Study) -> bool:
        return tries_of(study) > 0

    @override
    def is_blind(self, study: Study) -> bool:
        return True  # no page of a rater says whose words they read

    @override
    def why_not_open(self, study: Study) -> str:
        if unfilled := next((each.ask for each in ask_counts(study) if not each.items), None):
            if not study.items.exists():
                return gettext("There is nothing to judge yet. Add responses or conversations to the queue.")
            return gettext(
                "There is nothing in the queue yet for %(ask)s. Add something to judge, or leave these "
                "questions out."
            ) % {"ask": unfilled}
        battery = battery_of(study)
        return why_unfit(battery) if battery else ""

    @override
    def designed_at(self, study: Study) -> str:
        return reverse(self.filled_at or "judging:queue", args=[study.pk])

    @override
    def asks_changed(self, study: Study) -> None:
        asked_anew(study)

    @override
    def pilot_over(self, study: Study) -> None:
        judge_again(study)

    @override
    def plan_of_copy(self, study: Study) -> Plan | None:
        plan: Plan | None = copied_row(getattr(study, "judging", None))
        return plan

    @override
    def holds(self, study: Study) -> Mapping[str, int]:
        return {"items": sum(each.items for each in ask_counts(study))}

    @override
    def finished_and_wanted(self, studies: QuerySet[Study]) -> Rows:
        return judged_and_wanted(studies)

    @override
    def planned(self, study: Study | None, sent: Mapping[str, str], wanted: Sequence[int]) -> Planned | None:
        return planned_of_queue(study) if study else None

    @override
    def shares(self, studies: QuerySet[Study]) -> Rows:
        return shares(studies)
