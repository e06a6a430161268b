"""Which texts must not be said or learned. A lab can put its own classifier in the place of the default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class SafetyClassifier(Protocol):
    """Tells unsafe texts; anything with this method will do."""

    def unsafe(self, texts: Sequence[str]) -> list[bool]:
        """For each text, whether it must not be used."""
        ...


class AllowEverything:
    """Finds no text unsafe: Meena (base)."""

    def unsafe(self, texts: Sequence[str]) -> list[bool]:
        """False for every text."""
        return [False] * len(texts)


class ProfanityCheck:
    """The linear classifier of alt-profanity-check, trained on English posts and comments.

    It knows words, not meaning: it lets insults without swear words pass. Its weights are pickles inside the
    installed distribution, which the package manager checks like the code beside them; none is read from
    elsewhere.

    Args:
        threshold: probability of being offensive from which a text is unsafe, in (0, 1].

    Raises:
        ModuleNotFoundError: the library is not installed.
    """

    def __init__(self, threshold: float = 0.5) -> None:
        try:
            from profanity_check import predict_prob
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "The safety classifier needs alt-profanity-check: pip install 'turnwise[models]'."
            ) from error
        self.threshold = threshold
        self._probabilities = predict_prob

    def unsafe(self, texts: Sequence[str]) -> list[bool]:
        """Whether each text's probability of being offensive reaches the threshold."""
        if not texts:
            return []
        return [bool(probability >= self.threshold) for probability in self._probabilities(list(texts))]


CLASSIFIERS = {"profanity-check": ProfanityCheck, "none": AllowEverything}
