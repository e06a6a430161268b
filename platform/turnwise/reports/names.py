"""What the report of a study calls its bots, and the people in it."""

from collections import Counter
from collections.abc import Sequence

from django.db.models import QuerySet

from evaluation.protocols.facts import HUMAN
from turnwise.dialogues.models import Dialogue
from turnwise.dialogues.queries import of_people
from turnwise.studies.models import Study

# Two people who talk with each other are one system, with this id.
PEOPLE = 0


def bot_names(study: Study) -> dict[int, str]:
    """By id, what the report calls the study's bots: their titles, with the name where two share one.

    A bot that is called as people are shares its title with them, where people talk with each other.
    """
    return bots_called(study, list(study.study_bots.values_list("bot_id", "bot__title", "bot__name")))


def bots_called(study: Study, bots: Sequence[tuple[int, str, str]]) -> dict[int, str]:
    """The same of the study's bots as already read: of each its id, title and name."""
    shared = Counter(title for _, title, _ in bots)
    if HUMAN in shared and talks_of_people(study).exists():
        shared[HUMAN] += 1
    return {pk: f"{title} ({name})" if shared[title] > 1 else title for pk, title, name in bots}


def talks_of_people(study: Study) -> QuerySet[Dialogue]:
    """Its conversations of two people."""
    return of_people(Study.objects.filter(pk=study.pk))
