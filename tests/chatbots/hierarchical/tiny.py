"""Small models and conversations to compute by hand."""

import torch

from chatbots.hierarchical.config import HierarchicalConfig
from chatbots.hierarchical.model import Hierarchical
from chatbots.training.vocabulary import END

CONVERSATIONS = [
    [[5, 6, 7, END], [8, END], [9, 4, 4, 10, END]],
    [[11, END], [5, 5, END]],
    [[END], [6, 7, 8, 9, 10, END], [4, END], [5, 9, END], [7, END]],
]


def config(architecture, **changes):
    sizes = {
        "vocabulary_size": 12,
        "embedding_size": 6,
        "encoder_size": 5,
        "context_size": 7,
        "decoder_size": 4,
        "latent_size": 3,
    }
    return HierarchicalConfig(architecture=architecture, **sizes | changes)


def model_of(architecture, **changes):
    torch.manual_seed(3)
    model = Hierarchical(config(architecture, **changes)).double().eval()
    with torch.no_grad():  # so that no bias or gate hides behind a zero
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model
