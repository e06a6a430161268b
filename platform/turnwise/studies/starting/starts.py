"""Beginnings of a new study: every combination of intentions and raters that tasks and presets declare."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from turnwise.accounts.models import User
from turnwise.questions.queries import newest_of, sets_of
from turnwise.questions.question_sets import question_set
from turnwise.studies.ask_rules import SUBJECTS
from turnwise.studies.asks import AskSpec
from turnwise.studies.presets import OWN_DESIGN, PRESETS, Preset
from turnwise.studies.starting.intentions import Aim, Intention, Material, Raters
from turnwise.studies.tasks import StudyTask, task_named, tasks

# Parameters of addresses with the answers to the three questions.
AIM, MATERIAL, RATERS = "know", "with", "by"
_AUTHORS_AND_YEAR = re.compile(r".*?\b[0-9]{4}\b")


@dataclass(frozen=True, slots=True)
class Start:
    """A study that can begin: a task, perhaps as a published protocol has it, for an intention and raters."""

    task: StudyTask
    preset: Preset
    intention: Intention
    raters: Raters

    @property
    def title(self) -> str | Promise:
        """Name of the protocol, the entry point or the task."""
        if self.preset.protocol:
            return self.preset.title
        return self.task.entry_points.get(self.intention.way) or self.task.menu

    @property
    def says(self) -> str:
        """What happens in the study, what is asked, and its origin."""
        if self.preset.protocol:
            asks = self.preset.asks or self.task.asks
            questions = ", ".join(f"“{question_set(ask.question_set).title}”" for ask in asks)
            if not self.preset.is_published:
                says = _("%(task)s. Asked: %(questions)s. A design of Turnwise.")
                return says % {"task": self.task.title, "questions": questions}
            named = _AUTHORS_AND_YEAR.match(self.preset.source)
            source = named.group() if named else self.preset.source
            says = _("%(task)s. Asked: %(questions)s. As published: %(source)s.")
            return says % {"task": self.task.title, "questions": questions, "source": source}
        return _("%(task)s. A design of your own.") % {"task": self.task.title}

    @property
    def answers(self) -> dict[str, str]:
        """The three answers, as parameters of an address."""
        aim, material = self.intention.aim, self.intention.material
        return {AIM: aim.value, MATERIAL: material.value, RATERS: self.raters.key}

    @property
    def address(self) -> str:
        """Address of the form with these choices filled in."""
        of_study = {"protocol": self.preset.key, "task": self.task.key, "way": self.intention.way}
        given = {name: value for name, value in of_study.items() if value}
        return f"{reverse('studies:new')}?{urlencode(given | self.answers)}"


def starts() -> Iterator[Start]:
    """All beginnings; published protocols come before designs of one's own."""
    declared = [(task_named(preset.task), preset, preset.intentions) for preset in PRESETS if preset.task]
    declared += [(task, OWN_DESIGN, task.intentions) for task in tasks()]
    for task, preset, intentions in declared:
        by_whom = task.raters(preset.asks or task.asks)
        for intention in intentions:
            yield from (Start(task, preset, intention, each) for each in by_whom)


@dataclass(frozen=True, slots=True)
class Option:
    """One answer to a question of the first page.

    Attributes:
        says: description; empty if the title says all.
        address: address of the page with this answer and the other answers kept.
    """

    title: str | Promise
    says: str | Promise
    address: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Question:
    """One question of the first page, with the answers that exist beside the earlier answers."""

    name: str
    title: str
    options: Sequence[Option]


class _Answer(NamedTuple):
    key: str
    title: str | Promise
    about: str | Promise = ""


class Choices:
    """The three questions with the answers of an address: the first one if an answer is impossible."""

    def __init__(self, sent: Mapping[str, str]) -> None:
        self.questions: list[Question] = []
        self.starts = list(starts())
        self._sent = sent
        self._ask(AIM, _("What do you want to know?"), lambda start: _answer(start.intention.aim))
        self._ask(MATERIAL, _("With what?"), lambda start: _answer(start.intention.material))
        self._ask(RATERS, _("By whom?"), lambda start: _answer(start.raters))

    def _ask(self, name: str, title: str, answer_of: Callable[[Start], _Answer]) -> None:
        """Add a question, and keep the beginnings that its answer leaves."""
        found = {answer.key: answer for answer in map(answer_of, self.starts)}
        order = {key: number for number, key in enumerate([*Aim.values, *Material.values])}
        answers = sorted(found.values(), key=lambda answer: order.get(answer.key, 0))
        chosen = found.get(self._sent.get(name, ""), answers[0])
        self.starts = [start for start in self.starts if answer_of(start).key == chosen.key]
        kept = {key: self._sent[key] for key in (AIM, MATERIAL, RATERS) if key in self._sent}
        options = [
            Option(each.title, each.about, f"?{urlencode(kept | {name: each.key})}#{name}", each == chosen)
            for each in answers
        ]
        self.questions.append(Question(name, title, options))


def _answer(choice: Aim | Material | Raters) -> _Answer:
    if isinstance(choice, Raters):
        return _Answer(choice.key, choice.title, choice.about)
    return _Answer(choice.value, choice.label)


class Beginning:
    """What the address of a new study's form says about its beginning."""

    def __init__(self, task: StudyTask, preset: Preset, sent: Mapping[str, str]) -> None:
        self.task, self.preset = task, preset
        self._sent = sent

    @cached_property
    def way(self) -> str:
        """The entry point of the task; empty: its design."""
        way = self._sent.get("way", "")
        return way if way in self.task.entry_points else ""

    @cached_property
    def start(self) -> Start | None:
        """The beginning that was chosen on the first page; None if the address names none that exists."""
        named = (AIM, MATERIAL, RATERS)
        if not all(name in self._sent for name in named):
            return None
        wanted = {name: self._sent[name] for name in named}
        return next(
            (
                each
                for each in starts()
                if (each.task, each.preset, each.intention.way) == (self.task, self.preset, self.way)
                and each.answers == wanted
            ),
            None,
        )

    @property
    def aim(self) -> Aim | None:
        """What the researcher wants to know, if it was chosen."""
        return self.start.intention.aim if self.start else None

    @property
    def by(self) -> str:
        """Key of the raters that were chosen; empty: none were."""
        return self.start.raters.key if self.start else ""

    @property
    def needs_consent(self) -> bool:
        """True unless only a machine works."""
        return not self.start or self.start.raters.are_people

    @property
    def needs_pay(self) -> bool:
        """True unless the chosen raters usually work without pay."""
        return not self.start or self.start.raters.are_paid

    @property
    def title(self) -> str | Promise:
        """Name of what begins, whichever way the form was reached."""
        if self.preset.protocol:
            return self.preset.title
        return self.task.entry_points.get(self.way) or self.task.menu

    @property
    def address(self) -> str:
        """Address of the first page with the answers so far."""
        query = f"?{urlencode(self.start.answers)}" if self.start else ""
        return reverse("studies:new") + query


def own_questions(user: User, task: StudyTask) -> tuple[AskSpec, ...]:
    """The task's default ask with this person's newest question set that fits it; empty without one."""
    mine = newest_of(sets_of(user).filter(archived_at=None, owner=user)).order_by("-created_at")
    for ask in task.asks:
        for version in mine:
            if question_set(version.key).subjects & SUBJECTS[ask.about]:
                return (replace(ask, question_set=version.key),)
    return ()
