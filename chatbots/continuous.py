"""Bots that let contexts join while they are answering others.

A bot that takes whole batches keeps whoever comes a moment later waiting until the longest reply of the batch
is done. One that decodes step by step need not: it takes newcomers between two steps.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from chatbots.base import Bot, Context, Failure, Response


class Answering(ABC):
    """Contexts that a bot is answering, each as far as it has come. Used by one thread."""

    @property
    @abstractmethod
    def room(self) -> int:
        """How many contexts can join now."""

    @abstractmethod
    def admit(self, contexts: Sequence[Context]) -> Sequence[int]:
        """Let contexts join.

        Args:
            contexts: at least one, at most `room`.

        Returns:
            A key for each, by which `step` tells its end.
        """

    @abstractmethod
    def step(self) -> dict[int, Response | Failure]:
        """Go one step on with every context.

        Returns:
            What is done now, by key; a key comes once. Takes a moment, not a whole reply.
        """


class ContinuousBot(Bot):
    """A bot that hosting keeps answering, with newcomers joining between two steps.

    An error in `admit` or `step` ends the whole of what is being answered; each context of it is then asked
    again alone, so that only the guilty one fails. Wrappers around it take newcomers as it does.
    """

    @abstractmethod
    def answering(self) -> Answering:
        """Begin with nothing to answer."""

    def respond(self, contexts: Sequence[Context]) -> Sequence[Response | Failure]:
        """As of every bot: all contexts together, the next joining as soon as there is room."""
        answering = self.answering()
        number_of: dict[int, int] = {}
        done: dict[int, Response | Failure] = {}
        while len(done) < len(contexts):
            begun = len(number_of)
            joining = range(begun, min(begun + answering.room, len(contexts)))
            if joining:
                keys = answering.admit([contexts[number] for number in joining])
                number_of |= dict(zip(keys, joining, strict=True))
            done |= {number_of[key]: response for key, response in answering.step().items()}
        return [done[number] for number in range(len(contexts))]
