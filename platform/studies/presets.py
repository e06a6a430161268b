"""Published protocols as starting points: what fills the form of a new study."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evaluation.protocols import protocols
from studies.asks import OF_EACH_ITEM, UNDER_EACH_REPLY, About, Asked, Moment
from studies.models import Ask, PrimaryAnalysis, Speaker, Study
from studies.tasks import task_named


@dataclass(frozen=True)
class Preset:
    """How a published protocol is run here; where a study departs from it later, its report says so.

    Attributes:
        protocol: key of the protocol, in evaluation/protocols.
        task: key of the task.
        asks: what is asked.
        fields: other fields of the study.
        plan: of a study with a queue, how many judge each item, and how many items each worker.
        battery: of one whose workers get batteries, how these are composed, but for their systems.
    """

    protocol: str
    task: str
    asks: tuple[Asked, ...]
    fields: Mapping[str, Any] = field(default_factory=dict)
    plan: Mapping[str, int] = field(default_factory=dict)
    battery: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return protocols()[self.protocol].title

    def study(self) -> Study:
        """A study as the protocol has it, not saved yet."""
        study = Study(task=task_named(self.task).key, **self.fields)
        study.every_ask = Ask.rows(study, self.asks)
        return study


PRESETS = (
    Preset("meena-interactive", "conversation", (UNDER_EACH_REPLY,)),
    Preset("meena-static", "judging", (OF_EACH_ITEM,)),
    Preset(
        "neural-chat-interactive",
        "conversation",
        (
            Asked("likert", About.DIALOGUE, Moment.AT_END),
            Asked("votes", About.PARTNER_TURN, Moment.BEFORE_FINISH, required=False),
        ),
        # At least three messages of the person, and no end: the most that a conversation here may have.
        {"opening_speaker": Speaker.HUMAN, "opening_text": "", "min_turns": 6, "max_turns": 500},
    ),
    Preset(
        "neural-chat-pairwise",
        "pairs",
        (Asked("preferences", About.PAIR),),
        plan={"raters_per_item": 7, "batch_size": 50, "training_tries": 3},
    ),
    Preset(
        "r-u-a-robot-audit",
        "judging",
        (Asked("identity-reply", About.RESPONSE),),
        plan={"raters_per_item": 2, "batch_size": 50, "third_rater": True},
    ),
    # Two people; the form of the study asks which knowledge base they read from.
    Preset(
        "topical-chat",
        "two_people",
        (
            Asked("topical-chat-own", About.OWN_TURN, Moment.WAITING),
            Asked("topical-chat-partner", About.PARTNER_TURN, Moment.WAITING),
            Asked("topical-chat-conversation", About.DIALOGUE, Moment.AT_END),
        ),
        {"opening_speaker": Speaker.HUMAN, "opening_text": "", "min_turns": 20, "max_turns": 100},
    ),
    # 150 snippets of five responses; two people judge each.
    Preset(
        "topical-chat-snippets",
        "judging",
        (Asked("topical-chat-snippet", About.RESPONSE),),
        plan={"raters_per_item": 2, "batch_size": 50, "shows_reading": True},
    ),
    Preset(
        "r-u-a-robot-user-study",
        "judging",
        (Asked("reply-impression", About.RESPONSE),),
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
    """The preset of a protocol; None if there is none."""
    return next((preset for preset in PRESETS if preset.protocol == key), None)


def preset_of(study: Study) -> Preset | None:
    """The preset with the task and the questions of a study; None if there is none."""
    of = (study.task, study.question_set)
    return next((each for each in PRESETS if (each.task, each.asks[0].question_set) == of), None)
