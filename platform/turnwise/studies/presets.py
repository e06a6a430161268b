"""Presets of new studies: published protocols, designs of Turnwise, and one for a design of one's own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext

from evaluation.protocols import protocol_named
from evaluation.questions import HELPFUL_HARMLESS_HONEST
from turnwise.studies.ask_rules import rows_of
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import PrimaryAnalysis, Speaker, Study
from turnwise.studies.starting.intentions import Aim, Intention, Material
from turnwise.studies.tasks import StudyTask, task_named

EMPTY = "empty"
"""The key of the preset that follows no publication."""


@dataclass(frozen=True)
class Preset:
    """Form values with which a protocol is run; the report names later departures from it.

    Attributes:
        protocol: key of the protocol, in evaluation/protocols; empty of an own design.
        task: key of the task; empty: any task.
        intentions: what it serves; the first page of a new study offers it there.
        fields: other fields of the study.
        to_choose: names of optional form fields that the protocol needs, though it gives no value.
        read_as: key of the protocol by which readers judge the conversations of such a study, if any.
        plan: for a study with a queue, raters per item, batch size and the like.
        battery: for a study with batteries, their composition without the systems.
        proposed: asks of a new study if its protocol allows any questions.
    """

    protocol: str
    task: str
    intentions: tuple[Intention, ...]
    fields: Mapping[str, Any] = field(default_factory=dict)
    to_choose: frozenset[str] = frozenset()
    read_as: str = ""
    plan: Mapping[str, int] = field(default_factory=dict)
    battery: Mapping[str, Any] = field(default_factory=dict)
    proposed: tuple[AskSpec, ...] = ()

    @property
    def key(self) -> str:
        """Key in addresses and in the API."""
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
        """Asks of the protocol, or proposed ones; empty for an own design, which takes those of its task."""
        return self.proposed or tuple(
            AskSpec(
                ask.question_set, About(ask.about), Moment(ask.moment) if ask.moment else None, ask.required
            )
            for ask in protocol_named(self.protocol).asks
        )

    @property
    def is_published(self) -> bool:
        """True if a publication has this protocol; false of designs of Turnwise and of one's own."""
        return bool(self.protocol) and not protocol_named(self.protocol).is_own

    def is_for(self, task: StudyTask) -> bool:
        """True if a study of this task can be made from the preset."""
        return not self.task or task.key == self.task

    def study(self, task: str = "") -> Study:
        """Build an unsaved study; an own design has the given task, or the first one."""
        key = self.task or task_named(task).key
        study = Study(task=key, protocol=self.protocol, **self.fields)
        study.every_ask = rows_of(study, self.asks)
        return study


OWN_DESIGN = Preset("", "", ())  # each task declares the intentions of its own designs
PRESETS = (
    OWN_DESIGN,
    Preset(
        "meena-interactive",
        "conversation",
        (Intention(Aim.QUALITY, Material.LIVE), Intention(Aim.BETTER, Material.LIVE)),
        read_as="meena-read",
    ),
    Preset("meena-static", "judging", (Intention(Aim.QUALITY, Material.RESPONSES),)),
    # Conversations of an interactive study, judged by others; they are chosen in the queue.
    Preset("meena-read", "judging", (Intention(Aim.QUALITY, Material.CONVERSATIONS),)),
    Preset(
        "neural-chat-interactive",
        "conversation",
        (Intention(Aim.QUALITY, Material.LIVE),),
        # At least three messages of the person, and no end: the most that a conversation here may have.
        {"opening_speaker": Speaker.HUMAN, "opening_text": "", "min_turns": 6, "max_turns": 500},
    ),
    Preset(
        "neural-chat-pairwise",
        "pairs",
        (Intention(Aim.BETTER, Material.RESPONSES),),
        plan={"raters_per_item": 7, "batch_size": 50, "training_tries": 3},
    ),
    Preset(
        "r-u-a-robot-audit",
        "judging",
        (Intention(Aim.IDENTITY, Material.RESPONSES),),
        plan={"raters_per_item": 2, "batch_size": 50, "third_rater": True},
    ),
    # Two people; the form of the study asks which knowledge base they read from.
    Preset(
        "topical-chat",
        "two_people",
        (Intention(Aim.PEOPLE, Material.TWO_PEOPLE),),
        {"opening_speaker": Speaker.HUMAN, "opening_text": "", "min_turns": 20, "max_turns": 100},
        frozenset({"knowledge"}),
    ),
    # 150 snippets of five responses; two people judge each.
    Preset(
        "topical-chat-snippets",
        "judging",
        (Intention(Aim.QUALITY, Material.RESPONSES),),
        plan={"raters_per_item": 2, "batch_size": 50, "shows_reading": True},
    ),
    # No publication: a design of this platform, with any questions.
    Preset(
        "expert-review",
        "judging",
        (Intention(Aim.QUALITY, Material.RESPONSES), Intention(Aim.QUALITY, Material.CONVERSATIONS)),
        plan={"raters_per_item": 2, "batch_size": 50, "adjudication_steps": 2},
    ),
    # Also of this platform. Three scales after every reply would interrupt people more than they tell, and
    # contradictions show only in the whole conversation; so people answer once, at the end.
    Preset(
        "helpful-harmless-honest",
        "conversation",
        (Intention(Aim.QUALITY, Material.LIVE), Intention(Aim.BETTER, Material.LIVE)),
        {"opening_speaker": Speaker.HUMAN, "opening_text": "", "min_turns": 6, "max_turns": 40},
    ),
    Preset(
        "prompts-by-models",
        "judging",
        (Intention(Aim.QUALITY, Material.RESPONSES), Intention(Aim.BETTER, Material.RESPONSES)),
        plan={"raters_per_item": 3, "batch_size": 30},
        proposed=(AskSpec(HELPFUL_HARMLESS_HONEST.key, About.RESPONSE),),
    ),
    Preset("live-arena", "arena", (Intention(Aim.BETTER, Material.LIVE),)),
    Preset(
        "r-u-a-robot-user-study",
        "judging",
        (Intention(Aim.IDENTITY, Material.RESPONSES),),
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
    """Presets for studies of a task; the own design comes first."""
    return [preset for preset in PRESETS if preset.is_for(task)]
