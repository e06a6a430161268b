from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Exists, OuterRef, Prefetch, QuerySet

from accounts.access import visible_to
from accounts.models import User
from dialogues.models import Dialogue, Turn
from dialogues.place import Place
from evaluation.questions import Answer
from labels.models import Label, Slot
from studies.models import Study

# Of labels: those that people gave. Simulated workers judge the same turns in rehearsals of judging studies.
OF_PEOPLE = ~Exists(Slot.objects.filter(label=OuterRef("pk"), study__rehearsal_of__isnull=False))


def own_labels(place: Place) -> dict[str, dict[str, Answer]]:
    """The worker's own labels in this dialogue, by position."""
    labels = Label.objects.filter(
        turn__dialogue_id=place.dialogue_id, rater_id=place.worker_id, question_set=place.question_set
    )
    return {str(position): answers for position, answers in labels.values_list("turn__position", "answers")}


def dialogues_of(user: User | AnonymousUser) -> QuerySet[Dialogue]:
    """The conversations that this person may read."""
    return visible_to(user, Dialogue.objects.all(), owner="study__owner")


def judged_and_wanted(studies: QuerySet[Study]) -> dict[int, tuple[int, int]]:
    """Of each judging study, by its key: judgments given, and how many all its items want."""
    counts = Slot.objects.filter(study__in=studies).values_list("study").order_by()
    found = counts.annotate(judged=Count("label"), wanted=Count("pk"))
    return {study: (judged, wanted) for study, judged, wanted in found}


def turns_with_labels(dialogue: Dialogue) -> QuerySet[Turn]:
    labels = Label.objects.filter(OF_PEOPLE).select_related("rater", "slot").order_by("pk")
    return dialogue.turn_set.order_by("position").prefetch_related(Prefetch("labels", queryset=labels))
