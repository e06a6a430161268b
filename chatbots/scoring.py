"""Scorers rank several replies to one context. Higher is better."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from evaluation.texts.similarity import f1


class Scorer(Protocol):
    """Scorer of replies. A lab can use any class with this method."""

    def scores(self, turns: Sequence[str], replies: Sequence[str]) -> Sequence[float]:
        """A finite number for each reply to these turns, oldest first; at least one of each."""


class Likelihood:
    """Log-likelihood per token, in nats, of each reply by the Meena model that ships.

    One model judges all, so that bots with other vocabularies, or without any, can be compared; the end of
    the reply counts as a token.
    """

    def __init__(self) -> None:
        """Load the model.

        Raises:
            ModuleNotFoundError: PyTorch or another library for models is not installed.
        """
        from chatbots.meena.model import load_checkpoint

        self._model, self._tokenizer = load_checkpoint(Path(__file__).parent / "meena" / "pretrained")

    def scores(self, turns: Sequence[str], replies: Sequence[str]) -> list[float]:
        """Score each reply; a reply that is too long for the model is judged by its beginning."""
        import torch

        from chatbots.meena.corpus.shards import Pair
        from chatbots.meena.training.batching import collate
        from chatbots.meena.training.perplexity import negative_log_likelihood

        config = self._model.config
        context = self._tokenizer.context(turns, length=config.context_length).tokens
        values = []
        for tokens in self._tokenizer.encode(replies):  # one by one: padding would change the last digits
            batch = collate([Pair(context, tokens)], response_length=config.response_length)
            with torch.no_grad():
                total = negative_log_likelihood(self._model(batch.contexts, batch.inputs), batch.targets)
            values.append(-float(total) / batch.tokens)
        return values


class Overlap:
    """F1 between the words of each reply and of the turn it answers: how much it takes up from that turn."""

    def scores(self, turns: Sequence[str], replies: Sequence[str]) -> list[float]:
        """Score each reply, from 0 to 1."""
        return [f1(reply, turns[-1:]) for reply in replies]


SCORERS: dict[str, Callable[[], Scorer]] = {"likelihood": Likelihood, "overlap": Overlap}
