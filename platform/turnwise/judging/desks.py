"""A worker's place in a judging study, and what can be said to them there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from evaluation.questions import Answer
from turnwise.live.refusals import RefusedError
from turnwise.studies.models import Ask

Shown = dict[str, Any]

REFUSALS = {
    "given_away": _(
        "You were away for a while, so this one was given to somebody else. Your earlier answers are safe; "
        "please continue with the next one."
    ),
    "judged_elsewhere": _(
        "You have judged this one before, in another study. Your work is safe; please continue with the next "
        "one."
    ),
    "finished": _("You have finished. Everything is saved."),
    "no_reason": _("Please also say why in a few words. Nothing is lost: write it and save again."),
    "reason_not_asked": _(
        "No reason is asked for here, so this was not saved. Reload the page, and answer again."
    ),
    "unjudged": _(
        "There are still items to judge. Your work so far is safe: please answer the open question."
    ),
}


@dataclass(frozen=True, slots=True)
class Desk:
    """A worker's place in a judging study: what does not change while they judge.

    Attributes:
        asks: what readers are asked in it, by number.
    """

    batch_id: int
    assignment_id: int
    participation_id: int
    study_code: str
    asks: Mapping[int, Ask]
    markdown: bool
    shows_reading: bool

    def ask_of(self, key: UUID) -> Ask:
        """What is asked about the item of this name, which begins with the number of its ask.

        Raises:
            RefusedError: no item of this study has such a name.
        """
        if key.bytes[0] not in self.asks:
            raise RefusedError("given_away", REFUSALS["given_away"])
        return self.asks[key.bytes[0]]


@dataclass(frozen=True, slots=True)
class Judged:
    """What a saved judgment leads to: what was stored, newly leased items, and how far the batch is."""

    answers: dict[str, Answer]
    leased: list[Shown]
    progress: dict[str, object]
