"""Rules for the asks of a study, and how they are stored."""

from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from evaluation.questions import Subject
from turnwise.questions.question_sets import question_set, refuse_unknown_set
from turnwise.studies.asks import MOST_ASKS, OF_PEOPLE, About, AskSpec, By, Moment, list_subjects
from turnwise.studies.models import Ask, Study
from turnwise.studies.tasks import StudyTask

SUBJECTS = {
    About.OWN_TURN: {Subject.TURN},
    About.PARTNER_TURN: {Subject.TURN},
    About.DIALOGUE: {Subject.DIALOGUE},
    About.RESPONSE: {Subject.TURN, Subject.RESPONSE},
    About.PAIR: {Subject.PAIR},
    About.CONTEXT: {Subject.CONTEXT},
    About.PERSON: {Subject.PERSON},
}
"""Subjects by what an ask is about; its question set must support one of them."""


def in_order(asks: Sequence[AskSpec]) -> list[AskSpec]:
    """Sort asks as they are stored: those about people last, those before the work before those after."""
    return sorted(asks, key=lambda ask: (ask.about == About.PERSON, ask.moment == Moment.AFTER_WORK))


def refuse_unfit(task: StudyTask, asks: Sequence[AskSpec]) -> None:
    """Refuse asks that a study of this task cannot have.

    Raises:
        ValidationError: names the ask, what is wrong with it, and the cure.
    """
    if len(asks) > MOST_ASKS:
        raise ValidationError(
            gettext("%(n)s things are asked; a study has room for %(most_asks)s. Ask fewer.")
            % {"n": len(asks), "most_asks": MOST_ASKS}
        )
    if task.asks and not asks:
        raise ValidationError(gettext("Nothing is asked. Choose the questions that workers answer."))
    if task.asks and all(ask.about == About.PERSON for ask in asks):
        raise ValidationError(
            gettext(
                "Only the people themselves are asked about. Also choose the questions about what is said or "
                "shown, which come first in the report."
            )
        )
    for number, ask in enumerate(asks):
        if problem := _why_unfit(task, ask, asks[:number]):
            raise ValidationError(gettext("%(ask)s: %(problem)s") % {"ask": ask, "problem": problem})


def _why_unfit(task: StudyTask, ask: AskSpec, earlier: Sequence[AskSpec]) -> str:
    refuse_unknown_set(ask.question_set)
    questions = question_set(ask.question_set)
    if (ask.by, ask.about) not in task.every_ask:
        able = "; ".join(sorted({about.label.lower() for _, about in task.every_ask})) or gettext("nothing")
        return gettext("a study of the kind “%(task)s” can ask only about: %(able)s.") % {
            "task": task.menu,
            "able": able,
        }
    if not questions.subjects & SUBJECTS[ask.about]:
        return gettext(
            "“%(title)s” can be asked about %(fitting)s only. Choose other questions, or ask about something "
            "else."
        ) % {"title": questions.title, "fitting": list_subjects(questions.subjects)}
    if ask.by == By.TALKERS and (ask.about == About.DIALOGUE) != (ask.moment == Moment.AT_END):
        return gettext("a whole conversation is judged when it is over, and single turns before that.")
    if (ask.about == About.PERSON) != (ask.moment in OF_PEOPLE):
        return gettext("people are asked about themselves before they begin, or once their work is done.")
    if any((ask.question_set, ask.about) == (each.question_set, each.about) for each in earlier):
        return gettext("this is asked twice. Remove one of the two.")
    return ""


def rows_of(study: Study, asks: Sequence[AskSpec]) -> list[Ask]:
    """Build unsaved `Ask` rows, numbered in order."""
    return [
        Ask(
            study=study,
            number=number,
            question_set=ask.question_set,
            about=ask.about,
            by=ask.by,
            moment=ask.moment or "",
            required=ask.required,
        )
        for number, ask in enumerate(asks)
    ]


def store_asks(study: Study, rows: Sequence[Ask], wanted: Sequence[AskSpec]) -> None:
    """Replace the asks of a study. Items of an ask that stays are kept; those of a removed ask are deleted.

    An ask with the same question set and subject keeps its row; else one about the same subject reuses it.
    """
    left = list(rows)
    made = rows_of(study, wanted)
    for is_same in (_asks_the_same, _is_about_the_same):
        for ask in made:
            found = None if ask.pk else next((row for row in left if is_same(row, ask)), None)
            if found:
                left.remove(found)
                ask.pk = found.pk
    Ask.objects.filter(pk__in=[row.pk for row in left]).delete()
    Ask.objects.bulk_update([ask for ask in made if ask.pk], _ASK_FIELDS)
    Ask.objects.bulk_create([ask for ask in made if not ask.pk])


_ASK_FIELDS = ("number", "question_set", "about", "by", "moment", "required")


def _asks_the_same(one: Ask, other: Ask) -> bool:
    return (one.question_set, one.about) == (other.question_set, other.about)


def _is_about_the_same(one: Ask, other: Ask) -> bool:
    return (one.by, one.about) == (other.by, other.about)
