"""Asks: which question set a study asks of whom, about what and when."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import models
from django.utils.translation import gettext_lazy as _

from evaluation.questions import Subject

# A list of due annotations stores asks as bits of one number (dialogues/progress.py).
MOST_ASKS = 32


class About(models.TextChoices):
    """Subject of an ask."""

    OWN_TURN = "own_turn", _("Each of their own turns")
    PARTNER_TURN = "partner_turn", _("Each of the partner's turns")
    DIALOGUE = "dialogue", _("The whole conversation")
    RESPONSE = "response", _("A response to a context")
    PAIR = "pair", _("Two responses, or two conversations")
    CONTEXT = "context", _("A context")
    PERSON = "person", _("The person themselves")


_SUBJECTS = {
    Subject.TURN: _("single turns"),
    Subject.RESPONSE: _("responses"),
    Subject.DIALOGUE: _("whole conversations"),
    Subject.PAIR: _("pairs side by side"),
    Subject.CONTEXT: _("contexts"),
    Subject.PERSON: _("the people themselves"),
}


def list_subjects(subjects: Iterable[Subject]) -> str:
    """Subjects as a phrase: "responses, whole conversations or contexts"."""
    named = sorted(str(_SUBJECTS[each]) for each in subjects)
    return _(" or ").join(filter(None, [", ".join(named[:-1]), *named[-1:]]))


class Party(models.TextChoices):
    """Rater role: the relation of a rater to what they judge."""

    CHATTER = "chatter", _("Talked with a bot, or judges their own words or the whole of their conversation")
    PARTNER = "partner", _("Talked with the person whose words they judge")
    READER = "reader", _("Reads what others said")
    OUTSIDE = "outside", _("Judged it elsewhere; came with a file")
    THEMSELVES = "themselves", _("Says something of themselves")


class By(models.TextChoices):
    """Respondents of an ask."""

    TALKERS = "talkers", _("The people who talk")
    READERS = "readers", _("Others, who read")
    EVERYBODY = "everybody", _("Everybody who takes part")


class Moment(models.TextChoices):
    """Moment of an ask to people who talk, or about the people themselves."""

    EACH_TURN = "each_turn", _("Before the next message can be sent")
    WAITING = "waiting", _("While the partner writes")
    BEFORE_FINISH = "before_finish", _("At any time before the conversation ends")
    AT_END = "at_end", _("At the end of the conversation")
    BEFORE_WORK = "before_work", _("Before they begin")
    AFTER_WORK = "after_work", _("When their work is done")


OF_PEOPLE = (Moment.BEFORE_WORK, Moment.AFTER_WORK)
"""The moments at which people are asked about themselves, in their order."""


@dataclass(frozen=True, slots=True)
class AskSpec:
    """An ask without its study; the report begins with the first ask of a study.

    Attributes:
        question_set: key of the questions.
        about: what the questions are about.
        moment: when it is asked; None for readers.
        required: whether the worker must answer before they can finish or continue.
    """

    question_set: str
    about: About
    moment: Moment | None = None
    required: bool = True

    @property
    def by(self) -> By:
        if self.about == About.PERSON:
            return By.EVERYBODY
        return By.READERS if self.moment is None else By.TALKERS

    def __str__(self) -> str:
        return self.sentence(self.question_set)

    def sentence(self, title: str) -> str:
        """The ask as part of a sentence, naming the questions by this title."""
        what = [str(self.about.label), *([str(self.moment.label)] if self.moment else [])]
        about, *when = [f"{label[0].lower()}{label[1:]}" for label in what]
        return f"“{title}” about {', '.join([about, *when])}"


# Default asks of a new study.
UNDER_EACH_REPLY = AskSpec("ssa", About.PARTNER_TURN, Moment.EACH_TURN)
OF_EACH_ITEM = AskSpec("ssa", About.RESPONSE)
