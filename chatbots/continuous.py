"""Bots that let contexts join while they are answering others.

A bot that takes whole batches keeps whoever comes a moment later waiting until the longest reply of the batch
is done. One that decodes step by step need not: it takes newcomers between two steps.
"""

from abc import abstractmethod
from collections.abc import Sequence

from chatbots.base import Answering, Bot, Context, Failure, Response


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
