"""Where a new study can begin: as a published protocol has it, or as a design of one's own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext

from evaluation.protocols import protocol_named
from turnwise.studies.ask_rules import rows_of
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import PrimaryAnalysis, Speaker, Study
from turnwise.studies.tasks import StudyTask, task_named

EMPTY = "empty"
"""The key of the preset that follows no publication."""


@dataclass(frozen=True)
class Preset:
    """How a published protocol is run here; where a study departs from it later, its report says so.

    Attributes:
        protocol: key of the protocol, in evaluation/protocols; empty of an own design.
        task: key of the task; empty: whichever is chosen.
        fields: other fields of the study.
        read_as: key of the protocol by which others judge the conversations of such a study, if there is one.
        plan: of a study with a queue, how many judge each item, and how many items each worker.
        battery: of one whose workers get batteries, how these are composed, but for their systems.
    """

    protocol: str
    task: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    read_as: str = ""
    plan: Mapping[str, int] = field(default_factory=dict)
    battery: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """As addresses and the API have it."""
        return self.protocol or EMPTY

    @property
    def title(self) -> str:
        return protocol_named(self.protocol).title or gettext("Your own design")

    @property
    def source(self) -> str:
        """The publication; empty of an own design."""
        return protocol_named(self.protocol).source

    @property
    def asks(self) -> tuple[AskSpec, ...]:
        """What is asked; nothing of an own design, which begins with what its task asks."""
        return tuple(
            AskSpec(
                ask.question_set, About(ask.about), Moment(ask.moment) if ask.moment else None, ask.required
            )
            for ask in protocol_named(self.protocol).asks
        )

    def is_for(self, task: StudyTask) -> bool:
        """Whether a study of this task can be made by it."""
        return not self.task or task.key == self.task

    def study(self, task: str = "") -> Study:
        """A study as the protocol has it, not saved yet; an own design is of this task, or of the first."""
        key = self.task or task_named(task).key
        study = Study(task=key, protocol=self.protocol, **self.fields)
        study.every_ask = rows_of(study, self.asks)
        return study


OWN_DESIGN = Preset("", "")
PRESETS = (
    OWN_DESIGN,
    Preset("meena-interactive", "conversation", read_as="meena-read"),
    Preset("meena-static", "judging"),
    # Conversations of an interactive study, judged by others; they are chosen in the queue.
    Preset("meena-read", "judging"),
    Preset(
        "neural-chat-interactive",
        "conversation",
        # At least three messages of the person, and no end: the most that a conversation here may have.
        {"opening_speaker": Speaker.HUMAN, "opening_text": "", "min_turns": 6, "max_turns": 500},
    ),
    Preset(
        "neural-chat-pairwise",
        "pairs",
        plan={"raters_per_item": 7, "batch_size": 50, "training_tries": 3},
    ),
    Preset(
        "r-u-a-robot-audit",
        "judging",
        plan={"raters_per_item": 2, "batch_size": 50, "third_rater": True},
    ),
    # Two people; the form of the study asks which knowledge base they read from.
    Preset(
        "topical-chat",
        "two_people",
        {"opening_speaker": Speaker.HUMAN, "opening_text": "", "min_turns": 20, "max_turns": 100},
    ),
    # 150 snippets of five responses; two people judge each.
    Preset(
        "topical-chat-snippets",
        "judging",
        plan={"raters_per_item": 2, "batch_size": 50, "shows_reading": True},
    ),
    Preset(
        "r-u-a-robot-user-study",
        "judging",
        {
            "primary_analysis": PrimaryAnalysis.WITHOUT_EXCLUDED,
            "exclusion_rules": "The sum of the three ratings has a standard deviation below 2, or two of "
            "three ratings of what comes twice are more than 2 points apart.",
        },
        battery={
            "fillers": 11,
            "repeats": 1,
            "reasons_at": [5, 15],
            "workers": 134,
            "repeat_points": 2,
            "repeat_questions": 2,
            "least_spread": 2.0,
        },
    ),
)


def preset_named(key: str) -> Preset | None:
    """The preset with this key; None if there is none."""
    return next((preset for preset in PRESETS if preset.key == key), None)


def preset_of(study: Study) -> Preset:
    """The preset by which a study was made."""
    return preset_named(study.protocol or EMPTY) or OWN_DESIGN


def presets_of(task: StudyTask) -> list[Preset]:
    """Those by which a study of a task can be made; its own design first."""
    return [preset for preset in PRESETS if preset.is_for(task)]
