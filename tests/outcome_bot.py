"""A bot whose replies end as a test says: refused, cut, with usage and reasoning."""

from collections.abc import Sequence
from typing import Any

import pytest

from chatbots.base import Bot, BotConfiguration, Context, Speaker
from chatbots.registry import REGISTRY
from chatbots.replies import ReplyOutcome, Response, Usage
from turnwise.bots.models import Bot as BotRow

CONTEXTS: list[Context] = []
"""Contexts that bots of this kind were asked with, in order."""


class OutcomeBot(Bot):
    """Gives the n-th of its replies to the n-th message."""

    class Configuration(BotConfiguration):
        """The replies as arguments of `Response`, JSON-able."""

        replies: tuple[dict[str, Any], ...]

    configuration: Configuration

    def respond(self, contexts: Sequence[Context]) -> list[Response]:
        CONTEXTS.extend(contexts)
        return [self._reply(context) for context in contexts]

    def _reply(self, context: Context) -> Response:
        number = max(1, sum(turn.speaker is Speaker.HUMAN for turn in context.turns))
        given = dict(self.configuration.replies[(number - 1) % len(self.configuration.replies)])
        usage = given.pop("usage", None)
        outcome = ReplyOutcome(given.pop("outcome", "complete"))
        remarks = tuple(given.pop("remarks", ()))
        return Response(usage=Usage(**usage) if usage else None, outcome=outcome, remarks=remarks, **given)


def register_outcome_bot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the bot for one test, so that no other test meets it in a list of all bots."""
    REGISTRY.registered_names()  # loads the shipped bots first, whose names are then taken
    monkeypatch.setitem(REGISTRY._classes, "outcomes", OutcomeBot)
    monkeypatch.setattr(OutcomeBot, "name", "outcomes")


def replies_of_all_bots(*replies: dict[str, Any]) -> None:
    """Make every stored bot give these replies."""
    CONTEXTS.clear()
    BotRow.objects.update(adapter="outcomes", configuration={"replies": list(replies)})
