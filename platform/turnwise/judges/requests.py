"""What a judge is sent about an item, and how its reply is read."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from chatbots.base import Context
from chatbots.replies import ReplyOutcome, Response
from evaluation.machine_judges.model_answers import OutsideChoicesError, parsed_answers
from evaluation.machine_judges.template import ItemText, SideText, prompt
from evaluation.questions import Answer, QuestionSet
from turnwise.judges.models import JudgeRun, MachineLabel
from turnwise.responses.tasks import seed_of

LabelKey = tuple[int, bool, int]
"""Item, order of its sides and draw of a label."""

_REFUSALS = (ReplyOutcome.REFUSED, ReplyOutcome.FILTERED)
Outcome = MachineLabel.Outcome


@dataclass(frozen=True, slots=True)
class Missing:
    """An answer that a run does not have yet, with the item's text; sides of a pair in the order shown."""

    item: int
    key: str
    is_swapped: bool
    draw: int
    text: ItemText

    @property
    def label_key(self) -> LabelKey:
        """Key of the label within its run."""
        return self.item, self.is_swapped, self.draw


def text_of(shown: dict[str, Any]) -> ItemText:
    """The texts of an item in the format of the judging page."""
    sides = [SideText(side["texts"], side.get("speaker")) for side in shown.get("sides") or []]
    return ItemText(shown["context"] or [], shown.get("text"), sides)


def context_of(run: JudgeRun, missing: Missing) -> Context:
    """The prompt about an item with its seed, which is the same whenever it is asked again."""
    key = f"{missing.key} swapped" if missing.is_swapped else missing.key
    seed = seed_of(run.seed, key, missing.draw)
    return Context.from_texts([prompt(run.judge.instructions, missing.text)], seed)


def read_reply(
    questions: QuestionSet, response: Response
) -> tuple[MachineLabel.Outcome, dict[str, Answer] | None, str]:
    """Outcome of a reply, its answers by question key if there are any, and otherwise why there are none."""
    if response.outcome in _REFUSALS:
        return Outcome.REFUSED, None, gettext("The model or its service declined.")
    try:
        return Outcome.ANSWERED, parsed_answers(questions, response.text), ""
    except OutsideChoicesError as error:
        return Outcome.OUTSIDE, None, str(error)
