"""Whether a study has anything left to do for somebody new: said before they consent in vain.

Only the app of a task knows what is left there, and it adds its rule here.
"""

from collections.abc import Callable
from datetime import datetime

from django.utils import timezone

from crowd.services import HOLD, places_taken
from studies.models import Study, Task

Rule = Callable[[Study, datetime], bool]
_RULES: dict[Task, Rule] = {}


def full_if(task: Task) -> Callable[[Rule], Rule]:
    """Add the rule of a task: whether such a study has nothing left for somebody who comes at that time."""

    def add(rule: Rule) -> Rule:
        _RULES[task] = rule
        return rule

    return add


def is_full(study: Study, *, now: datetime | None = None) -> bool:
    return _RULES[Task(study.task)](study, now or timezone.now())


def may_become_free(study: Study, *, now: datetime | None = None) -> bool:
    """Whether a full study would have a place in an hour if nobody who is at it went on."""
    return not is_full(study, now=(now or timezone.now()) + HOLD)


@full_if(Task.CONVERSATION)
def _is_talked_out(study: Study, now: datetime) -> bool:
    bots = study.study_bots.filter(bot__active=True)
    taken = places_taken([bot.pk for bot in bots], now)
    return all(taken.get(bot.pk, 0) >= bot.target for bot in bots)
