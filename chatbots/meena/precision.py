"""Faster products of float32 matrices on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def fast_products() -> Iterator[None]:
    """Let oneDNN multiply float32 matrices, in bf16 where the chip gains from it (AMX).

    Elsewhere it computes in float32 all the same, on AMD's chips twice as fast as PyTorch's default library.
    The setting is the process's: while it lasts, products of other threads are affected too. GPUs ignore it.
    """
    settings = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    before = settings.fp32_precision
    settings.fp32_precision = "bf16"
    try:
        yield
    finally:
        settings.fp32_precision = before
