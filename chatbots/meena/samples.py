"""Drawn responses and the functions that rank them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from chatbots.meena.tokenizer import Tokenizer

RankBy = Literal["per_token", "total", "length_normalised", "mutual_information"]
LENGTH_EXPONENT = 0.6
"""Exponent of the length penalty."""
PRIOR_WEIGHT = 0.5
"""Weight of the prior in mutual information; 0 ranks by log P alone, 1 by pointwise mutual information."""


class Sample(NamedTuple):
    """One drawn response.

    Attributes:
        tokens: the end token included, if it was reached.
        log_likelihood: log P of these tokens under the model, in nats.
        prior: log P of these tokens given an empty conversation, in nats; NaN until it is computed.
    """

    tokens: tuple[int, ...]
    log_likelihood: float
    prior: float = math.nan

    @property
    def per_token(self) -> float:
        """Mean over tokens: log P / number of tokens."""
        return self.log_likelihood / len(self.tokens)

    @property
    def finished(self) -> bool:
        """True if the model ended the response itself."""
        return self.tokens[-1] == Tokenizer.end


SCORES: dict[RankBy, Callable[[Sample], float]] = {
    "per_token": lambda sample: sample.per_token,
    "total": lambda sample: sample.log_likelihood,
    "length_normalised": lambda sample: (
        sample.log_likelihood / ((5 + len(sample.tokens)) / 6) ** LENGTH_EXPONENT
    ),
    "mutual_information": lambda sample: sample.log_likelihood - PRIOR_WEIGHT * sample.prior,
}
"""The ranking functions; higher is better."""


def rank(samples: Sequence[Sample], by: RankBy) -> list[Sample]:
    """Sort the samples by score, best first; equal ones keep their order.

    Args:
        samples: with `prior` if ranked by mutual information.
        by: the ranking function.
    """
    score = SCORES[by]
    return sorted(samples, key=lambda sample: -score(sample))
