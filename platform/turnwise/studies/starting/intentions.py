"""Intentions of researchers: what they want to know, with what, and by whom.

Tasks and presets declare the intentions that they serve. The first page of a new study offers what follows
from these declarations (`studies.starting.starts`).
"""

from dataclasses import dataclass

from django.db import models
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class Aim(models.TextChoices):
    """What a researcher wants to know, in the order of the page."""

    QUALITY = "quality", _("How sensible, specific or engaging a bot is")
    BETTER = "better", _("Which of two or more bots is better")
    QUESTIONS = "questions", _("How bots or people do on questions of my own")
    IDENTITY = "identity", _("Whether a bot admits to be a machine, and how that is received")
    PEOPLE = "people", _("What people say to each other")
    IN_PLACE = "in-place", _("What people would say in place of a bot")
    SELF_TALK = "self-talk", _("What bots say to each other")


class Material(models.TextChoices):
    """What a study works with, in the order of the page."""

    LIVE = "live", _("Live conversations with bots")
    CONVERSATIONS = "conversations", _("Conversations that are in Turnwise already")
    FILE = "file", _("Conversations held elsewhere, in a file")
    RESPONSES = "responses", _("Contexts (prompts), and what models respond to them")
    CONTEXTS = "contexts", _("Contexts (prompts) alone")
    TWO_PEOPLE = "two-people", _("Two people who talk with each other")
    BOTS = "bots", _("Bots that talk with each other")


@dataclass(frozen=True, slots=True)
class Intention:
    """An intention that a task or a preset serves.

    Attributes:
        aim: what the researcher wants to know.
        material: what the study works with.
        way: the one of the task's `entry_points` by which such a study begins; empty: its design.
    """

    aim: Aim
    material: Material
    way: str = ""


@dataclass(frozen=True, slots=True)
class Raters:
    """An answer to the question who does the work of a study.

    Attributes:
        key: in addresses.
        title: name on pages.
        about: description for researchers, in one or two sentences.
        are_people: whether people take part, who need a consent text.
        are_paid: whether they usually take part for pay.
    """

    key: str
    title: str | Promise
    about: str | Promise
    are_people: bool = True
    are_paid: bool = False


NOBODY = Raters("nobody", _("Nobody"), _("Bots talk by themselves; no person takes part."), are_people=False)
MACHINE = Raters(
    "machine",
    _("A machine judge"),
    _(
        "A bot answers the questions: choose what it judges in the queue, then start it there under “Machine "
        "judges”. People can judge beside it."
    ),
    are_people=False,
)
