from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import Prefetch, Q, QuerySet

from turnwise.accounts.models import User
from turnwise.crowd.models import Withdrawal
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.dialogues.seated import Seated
from turnwise.labels.models import Label
from turnwise.studies.queries import readable_studies_of, studies_of


def given_to(study_id: int) -> Q:
    """Of the labels of a study's conversations: those that count in it.

    People gave them, or simulated workers in the study itself, where it is a rehearsal. Others judge the same
    turns in rehearsals of judging studies.
    """
    return Q(study__rehearsal_of=None) | Q(study=study_id)


def own_labels(seat: Seated) -> list[dict[str, Any]]:
    """What this person has answered in their conversation, as their page keeps it.

    Each with its `ask`, its `position` (None: the whole conversation, which comes last) and its `answers`,
    in the order of the turns.
    """
    given = (
        Label.objects.filter(rater_id=seat.worker_id, study_id=seat.study_id)
        .filter(Q(turn__dialogue_id=seat.dialogue_id) | Q(dialogue_id=seat.dialogue_id))
        .order_by("turn__position", "pk")
    )
    asked = given.values_list("turn__position", "ask__number", "answers")
    return [{"position": position, "ask": ask, "answers": answers} for position, ask, answers in asked]


def dialogues_of(user: User | AnonymousUser) -> QuerySet[Dialogue]:
    """The conversations of the studies that this person works on."""
    return Dialogue.objects.filter(study__in=studies_of(user))


def readable_dialogues_of(user: User | AnonymousUser) -> QuerySet[Dialogue]:
    """The conversations that this person may read."""
    return Dialogue.objects.filter(study__in=readable_studies_of(user))


def withdrawn_with(user: User | AnonymousUser, public_id: UUID) -> Withdrawal | None:
    """The withdrawal with which a conversation went that this person could read."""
    mine = Withdrawal.objects.filter(participation__study__in=readable_studies_of(user))
    return mine.filter(conversations__contains=[public_id]).select_related("participation__study").first()


def turns_with_labels(dialogue: Dialogue) -> QuerySet[Turn]:
    labels = _shown(dialogue).select_related("rater")
    return dialogue.turn_set.order_by("position").prefetch_related(Prefetch("labels", queryset=labels))


def operators_of(dialogue: Dialogue) -> dict[int, str]:
    """Who of the team wrote in the bot's place, by position; without accounts that are gone."""
    written = dialogue.operator_replies.filter(by__isnull=False).select_related("by")
    return {each.position: str(each.by) for each in written}


def labels_of_whole(dialogue: Dialogue) -> QuerySet[Label]:
    return _shown(dialogue).filter(dialogue=dialogue)


def _shown(dialogue: Dialogue) -> QuerySet[Label]:
    """Those that count in its study, oldest first."""
    return Label.objects.filter(given_to(dialogue.study_id)).order_by("pk")
