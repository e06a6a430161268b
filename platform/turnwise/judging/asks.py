"""What a judging study asks its readers, and about which of its items."""

from django.utils.translation import gettext_lazy as _

from evaluation.questions import QuestionSet, Subject
from turnwise.judging.models import Item
from turnwise.questions.question_sets import all_asked, question_set
from turnwise.studies.ask_rules import SUBJECTS
from turnwise.studies.asks import About, By
from turnwise.studies.models import Ask, Study

JUDGED_BY = {
    About.RESPONSE: _("Single replies"),
    About.DIALOGUE: _("Whole conversations"),
    About.CONTEXT: _("Contexts"),
    About.PAIR: _("Pairs"),
}
"""What is judged by an ask, in a word or two."""


def asks_of_readers(study: Study) -> list[Ask]:
    """In their order; the report begins with the first."""
    return [ask for ask in study.asked if ask.by == By.READERS]


def sets_of(study: Study) -> list[QuestionSet]:
    """The questions of these, each set once."""
    return [question_set(key) for key in dict.fromkeys(ask.question_set for ask in asks_of_readers(study))]


def asked_by_number(study: Study, language: str) -> dict[int, list[dict[str, object]]]:
    """The questions of each ask, as the page of who judges takes them; each item names its ask."""
    return {ask.number: all_asked(ask.question_set, language) for ask in asks_of_readers(study)}


def questions_about(item: Item) -> QuestionSet:
    """What is asked about an item; its `ask` is read with it."""
    return question_set(item.ask.question_set)


def subjects_asked(study: Study) -> set[Subject]:
    """What at least one ask is about."""
    return {subject for subject in Subject if asks_about(study, subject)}


def asks_about(study: Study, subject: Subject) -> list[Ask]:
    """The asks that items of this subject are made for.

    Those that say they are about it. The only ask of a study is about whatever its questions can be, such as
    turns and whole conversations.
    """
    asks = asks_of_readers(study)
    able = [ask for ask in asks if subject in question_set(ask.question_set).subjects]
    return able if len(asks) == 1 else [ask for ask in able if subject in SUBJECTS[About(ask.about)]]
