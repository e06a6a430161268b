from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import Prefetch, Q, QuerySet

from accounts.access import visible_to
from accounts.models import User
from crowd.models import Withdrawal
from dialogues.models import Dialogue, Turn
from dialogues.seated import Seated
from labels.models import Label
from studies.asks import About

# Of labels: those that people gave. Simulated workers judge the same turns in rehearsals of judging studies.
OF_PEOPLE = Q(study__rehearsal_of=None)


def own_labels(seat: Seated) -> list[dict[str, Any]]:
    """What this person has answered in their conversation, as their page keeps it.

    Each with its `ask`, its `position` (None: the whole conversation) and its `answers`.
    """
    given = Label.objects.filter(rater_id=seat.worker_id, study_id=seat.study_id).filter(
        Q(turn__dialogue_id=seat.dialogue_id) | Q(dialogue_id=seat.dialogue_id)
    )
    numbers = {(ask.question_set, ask.about): ask.number for ask in seat.asks}
    return [
        {"position": position, "ask": numbers[asked], "answers": answers}
        for questions, position, answers in given.values_list("question_set", "turn__position", "answers")
        if (asked := (questions, _about(seat, position))) in numbers
    ]


def _about(seat: Seated, position: int | None) -> About:
    """What somebody who talks judged at this position."""
    if position is None:
        return About.DIALOGUE
    return About.OWN_TURN if position % 2 == seat.number else About.PARTNER_TURN


def dialogues_of(user: User | AnonymousUser) -> QuerySet[Dialogue]:
    """The conversations that this person may read."""
    return visible_to(user, Dialogue.objects.all(), owner="study__owner")


def withdrawn_with(user: User | AnonymousUser, public_id: UUID) -> Withdrawal | None:
    """The withdrawal with which a conversation went that this person could read."""
    mine = visible_to(user, Withdrawal.objects.all(), owner="participation__study__owner")
    return mine.filter(conversations__contains=[public_id]).select_related("participation__study").first()


def turns_with_labels(dialogue: Dialogue) -> QuerySet[Turn]:
    labels = _shown(dialogue).select_related("rater")
    return dialogue.turn_set.order_by("position").prefetch_related(Prefetch("labels", queryset=labels))


def labels_of_whole(dialogue: Dialogue) -> QuerySet[Label]:
    return _shown(dialogue).filter(dialogue=dialogue)


def _shown(dialogue: Dialogue) -> QuerySet[Label]:
    """By people and, in the rehearsal of a study whose workers talk, by simulated ones; oldest first."""
    return Label.objects.filter(OF_PEOPLE | Q(study=dialogue.study_id)).order_by("pk")
