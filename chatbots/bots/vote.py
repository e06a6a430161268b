"""A bot that asks several others and says the reply that is most like the others."""

from chatbots.base import Candidate, Context, Response
from chatbots.ensembles import EnsembleBot, ranked
from chatbots.registry import register
from evaluation.generation.overlap import f1


@register("vote")
class VoteBot(EnsembleBot):
    """Asks several bots and says the most central reply: the one whose words the others share most.

    Central is the largest mean F1 of words with the other replies, as in decoding of minimum Bayes risk. Of
    equally central ones, and of two replies, that of the bot that stands first is said.

    Source: Kumar & Byrne 2004, Minimum Bayes-risk decoding for statistical machine translation.
    """

    async def answered(self, context: Context) -> Response:
        """The most central reply; the others are its candidates."""
        said, silent = await self.asked(self.labels, context)
        if not said:
            raise self.nobody(silent)
        scores = centralities([each.response.text for each in said])
        order = sorted(range(len(said)), key=lambda nth: -scores[nth])
        why = ", ".join(f"{said[nth].label} {scores[nth]:.2f}" for nth in order)
        response = self.told(said[order[0]], f"mean F1 with the others: {why}", silent)
        return ranked(response, [Candidate(said[nth].response.text, scores[nth]) for nth in order], said)


def centralities(texts: list[str]) -> list[float]:
    """The mean F1 of words of each text with all others; 0 of one that is alone."""
    others = len(texts) - 1
    return [
        sum(f1(text, [other]) for at, other in enumerate(texts) if at != nth) / others if others else 0.0
        for nth, text in enumerate(texts)
    ]
