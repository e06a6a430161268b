"""Sentiment by VADER (Hutto & Gilbert 2014): a lexicon and rules. MIT licence."""

from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np

from evaluation.conversation.encoders.interfaces import Vectors
from evaluation.statistics.labels import FloatArray


class Vader:
    """VADER's compound score as sentiment, without a distribution of emotions."""

    @property
    def name(self) -> str:
        """VADER, with its version."""
        return f"VADER {version('vaderSentiment')}"

    @cached_property
    def _analyzer(self) -> Any:
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

        return SentimentIntensityAnalyzer()

    def sentiment(self, texts: Sequence[str]) -> FloatArray:
        """(t,) the compound score, from -1 to 1 (Hutto & Gilbert 2014)."""
        scores = (self._analyzer.polarity_scores(text)["compound"] for text in texts)
        return np.fromiter(scores, np.float64, len(texts))

    def shares(self, texts: Sequence[str]) -> Vectors:
        """(t, 3) shares of negative, neutral and positive words; all neutral for a text without words."""
        scores = [self._analyzer.polarity_scores(text) for text in texts]
        raw = np.array([[each["neg"], each["neu"], each["pos"]] for each in scores], np.float32).reshape(
            -1, 3
        )
        raw[raw.sum(axis=1) == 0] = (0, 1, 0)
        return np.asarray(raw / raw.sum(axis=1, keepdims=True), np.float32)

    def distribution(self, texts: Sequence[str]) -> Vectors | None:
        """Return None: VADER has no emotions."""
        return None
