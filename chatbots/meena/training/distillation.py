"""Distillation: a model learns from another model's probabilities, and not from the corpus alone.

Source: Hinton, Vinyals & Dean 2015, arXiv:1503.02531, section 2.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from chatbots.local_files import hash_of
from chatbots.meena.config import MeenaConfig
from chatbots.meena.model import PADDING, Meena, load_checkpoint, read_config
from chatbots.meena.tokenizer import Tokenizer
from chatbots.training.checkpoint import CheckpointError

if TYPE_CHECKING:
    from chatbots.meena.training.batching import Batch

MOST_ROWS = 1024
"""Number of positions whose distributions are compared at once, to limit memory."""


def soft_loss(scores: Tensor, taught: Tensor, targets: Tensor, temperature: float) -> Tensor:
    """T² · KL(teacher ‖ student) of the distributions tempered by T, summed over tokens, in nats.

    The factor T² keeps the size of its gradient beside that of the likelihood, whatever T is.

    Args:
        scores: scores of the student, before softmax, (n, t, v).
        taught: scores of the teacher, (n, t, v); no gradient flows into it.
        targets: tokens, (n, t); padding is not compared.
        temperature: T, above 0; the larger, the more the unlikely tokens count.

    Returns:
        A float32 number, at least 0 up to rounding.
    """
    is_real = targets.flatten() != PADDING
    student, teacher = scores.flatten(0, 1)[is_real], taught.flatten(0, 1)[is_real]
    total = scores.new_zeros((), dtype=torch.float32)
    for student_part, teacher_part in zip(
        torch.split(student, MOST_ROWS), torch.split(teacher, MOST_ROWS), strict=True
    ):
        log_q = (student_part.float() / temperature).log_softmax(dim=-1)
        log_p = (teacher_part.float() / temperature).log_softmax(dim=-1)
        total = total + (log_p.exp() * (log_p - log_q)).sum()
    return temperature**2 * total


class Teacher:
    """A trained model whose probabilities the student learns.

    Args:
        folder: folder of the model.
        config: shape of the student.
        tokenizer: tokenizer of the student's corpus.
        device: to compute on.

    Raises:
        CheckpointError: the folder has no complete model, or the model has another tokenizer or accepts only
            shorter contexts or responses than the student.
    """

    def __init__(self, folder: Path, config: MeenaConfig, tokenizer: Tokenizer, device: torch.device) -> None:
        self.model: Meena
        self.model, own_tokenizer = load_checkpoint(folder, device=device)
        if own_tokenizer.model != tokenizer.model:
            raise CheckpointError(
                f"{folder} has another tokenizer than the corpus, so their tokens are not the same. "
                "Build the corpus with --tokenizer and that folder's tokenizer.model."
            )
        shape = read_config(folder)
        for name in ("context_length", "response_length"):
            if getattr(shape, name) < getattr(config, name):
                option = name.replace("_", "-")
                raise CheckpointError(
                    f"{folder} has {name} {getattr(shape, name)}, less than the {getattr(config, name)} of "
                    f"the model that learns from it. Train with --{option} {getattr(shape, name)} or less."
                )

    @torch.no_grad()
    def scores(self, batch: Batch) -> Tensor:
        """Scores of the next tokens, before softmax, (n, t, v); without dropout and gradients."""
        scores: Tensor = self.model(batch.contexts, batch.inputs)
        return scores


def identity_of(folder: Path) -> str:
    """Hash the teacher's weights: a run must be resumed with the same teacher.

    Raises:
        CheckpointError: there is no model in the folder.
    """
    read_config(folder)
    return hash_of([folder / "model.safetensors"])
