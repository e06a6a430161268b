"""Bots that let contexts join while they are answering others.

A bot that takes whole batches makes a later request wait until the longest reply of the batch is done. A bot
that decodes step by step can take new requests between two steps.
"""

from abc import abstractmethod
from collections.abc import Sequence

from chatbots.base import Answering, Bot, Context
from chatbots.replies import Failure, Response


class ContinuousBot(Bot):
    """A bot that decodes step by step and takes new contexts between two steps.

    An error in `admit` or `step` ends all replies in progress; hosting then repeats each context alone, so
    that only the faulty one fails. Wrappers around it take new contexts as it does.
    """

    @abstractmethod
    def answering(self) -> Answering:
        """Start without contexts."""

    def respond(self, contexts: Sequence[Context]) -> Sequence[Response | Failure]:
        """Answer all contexts together; further ones join as soon as there is capacity."""
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
