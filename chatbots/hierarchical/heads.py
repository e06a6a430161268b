"""EI: what a teacher knows of an utterance, distilled into the state of the context after reading it.

Shapes: n utterances, e emotions, s numbers of a sentence vector.

Source: arXiv:1906.09308, section 3.1.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss

from chatbots.hierarchical.config import HierarchicalConfig


class Targets(NamedTuple):
    """What the teachers say of each utterance that is read.

    Attributes:
        emotions: probabilities, (n, e); None without that head.
        semantics: sentence vectors, (n, s); None without that head.
    """

    emotions: Tensor | None = None
    semantics: Tensor | None = None

    def joined(self) -> Tensor:
        """All numbers of each utterance side by side, (n, e + s)."""
        return torch.cat([each for each in self if each is not None], dim=1)


class Distilled(NamedTuple):
    """Both losses, each a mean.

    Attributes:
        emotion: cross-entropy with the teacher's distribution, in nats per utterance.
        semantic: squared error per number.
    """

    emotion: Tensor | None
    semantic: Tensor | None


class Heads(nn.Module):
    """One or two networks of one ReLU layer on the state of the context.

    Args:
        config: of the model.
    """

    def __init__(self, config: HierarchicalConfig) -> None:
        super().__init__()
        self.emotions = _head(config.context_size, config.emotion_hidden, config.emotions)
        self.semantics = _head(config.context_size, config.semantic_hidden, config.semantics)

    def forward(self, states: Tensor, targets: Targets) -> Distilled:
        """The losses for states after reading n utterances, (n, d), against what the teachers say of them."""
        emotion = semantic = None
        if self.emotions is not None and targets.emotions is not None:
            emotion = cross_entropy(self.emotions(states), targets.emotions)
        if self.semantics is not None and targets.semantics is not None:
            semantic = mse_loss(self.semantics(states), targets.semantics)
        return Distilled(emotion, semantic)


def _head(inputs: int, hidden: int, outputs: int) -> nn.Module | None:
    if not outputs:
        return None
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))
