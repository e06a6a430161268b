"""The asks of readers in a judging study, and the items that they are about."""

from django.utils.translation import gettext_lazy as _

from evaluation.questions import QuestionSet, Subject
from turnwise.judging.models import Item
from turnwise.questions.question_sets import question_set, questions_json
from turnwise.studies.ask_rules import SUBJECTS
from turnwise.studies.asks import About, By
from turnwise.studies.models import Ask, Study

JUDGED_BY = {
    About.RESPONSE: _("Single replies"),
    About.DIALOGUE: _("Whole conversations"),
    About.CONTEXT: _("Contexts"),
    About.PAIR: _("Pairs"),
}
"""Short names of what an ask is about."""


def asks_of_readers(study: Study) -> list[Ask]:
    """The asks of readers in their order; the report begins with the first."""
    return [ask for ask in study.work_asks if ask.by == By.READERS]


def question_sets_of(study: Study) -> list[QuestionSet]:
    """The question sets of these asks, each once."""
    return [question_set(key) for key in dict.fromkeys(ask.question_set for ask in asks_of_readers(study))]


def questions_by_ask_number(study: Study, language: str) -> dict[int, list[dict[str, object]]]:
    """The questions of each ask, in the format of the judging page."""
    return {ask.number: questions_json(ask.question_set, language) for ask in asks_of_readers(study)}


def questions_about(item: Item) -> QuestionSet:
    """The questions about an item. Select the item with its `ask`."""
    return question_set(item.ask.question_set)


def subjects_of_asks(study: Study) -> set[Subject]:
    """Subjects that at least one ask is about."""
    return {subject for subject in Subject if asks_about(study, subject)}


def asks_about(study: Study, subject: Subject) -> list[Ask]:
    """Asks for which items of this subject are created.

    With several asks, each says what it is about. A single ask takes every subject that its questions fit,
    such
    as turns and whole conversations.
    """
    asks = asks_of_readers(study)
    able = [ask for ask in asks if subject in question_set(ask.question_set).subjects]
    return able if len(asks) == 1 else [ask for ask in able if subject in SUBJECTS[About(ask.about)]]
