"""Faster products on the CPU: weights laid out for its kernels once, and in bf16 where it multiplies that.

oneDNN multiplies weights in blocks that fit the chip's registers and caches. A plain matrix has to be brought
into that layout at every product, which costs a third of the time for the few rows of decoding.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from chatbots.meena.huge_pages import gather
from chatbots.meena.model import Meena, SharedEmbedding

Precision = Literal["fp32", "bf16"]
ONEDNN: Any = torch.ops.mkldnn
ROWS = 32
"""Rows for which the layout is chosen; it serves any number."""


class PackedLinear(nn.Module):
    """A dense layer with its weight in oneDNN's layout, (…, inputs) → (…, outputs), for inference alone.

    Products are summed in float32. A row's result does not depend on how many others there are, except in
    bf16 on a chip with AMX, whose kernels sum long rows in an order that does.

    Args:
        weight: (outputs, inputs).
        bias: (outputs,), or None.
        dtype: of the product; inputs are rounded to it, outputs given back in the type of the inputs.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype
        self.weight = ONEDNN._reorder_linear_weight(weight.detach().to(dtype), ROWS)
        self.bias = None if bias is None else bias.detach().to(dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Multiply and add the bias."""
        return self.product(x).to(x.dtype)

    def product(self, x: Tensor) -> Tensor:
        """What `forward` returns, in the type of the product."""
        product: Tensor = ONEDNN._linear_pointwise.default(
            x.to(self.dtype), self.weight, self.bias, "none", [], ""
        )
        return product


class PackedEmbedding(nn.Module):
    """A shared embedding whose scores come from a packed product.

    Args:
        embedding: the one to stand in for.
        dtype: of the product and of the scores.
    """

    def __init__(self, embedding: SharedEmbedding, dtype: torch.dtype) -> None:
        super().__init__()
        self.weight = embedding.weight
        self.output = PackedLinear(embedding.weight, None, dtype)

    def forward(self, tokens: Tensor) -> Tensor:
        """Look tokens up: (…) → (…, d)."""
        return nn.functional.embedding(tokens, self.weight)

    def scores(self, states: Tensor) -> Tensor:
        """Scores before softmax: (…, d) → (…, v)."""
        return self.output.product(states)


def pack(model: Meena, dtype: torch.dtype | None = None) -> Meena:
    """Exchange the dense layers of a model in float32 on the CPU for packed ones, in place.

    In bf16 on a chip with instructions for it, else in float32, which oneDNN still multiplies faster than
    PyTorch's default library. Everything between the products stays in float32. A model on a GPU, or on a CPU
    that PyTorch has no oneDNN for, is left as it is.

    Args:
        model: to be changed.
        dtype: of the products; None: the fastest.

    Returns:
        The model, for inference alone.
    """
    if model.embedding.weight.device.type == "cpu" and can_pack():
        _pack_children(model, dtype or product_type())
        gather(layer.weight for layer in model.modules() if isinstance(layer, PackedLinear))
    return model


def can_pack() -> bool:
    """Whether this processor and this PyTorch can multiply packed weights."""
    return torch.backends.cpu.get_cpu_capability().startswith("AVX") and bool(torch._C._has_mkldnn)


def product_type() -> torch.dtype:
    """The type in which this processor multiplies packed weights fastest: bf16 or float32."""
    return torch.bfloat16 if has_bf16() else torch.float32


def has_bf16() -> bool:
    """Whether this processor multiplies bf16 matrices itself and oneDNN may use that.

    The environment variable ONEDNN_MAX_CPU_ISA takes instructions from oneDNN; PyTorch does not know of it.
    """
    native = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return bool(native and torch._C._has_mkldnn and ONEDNN._is_mkldnn_bf16_supported())


def training_precision(device: torch.device) -> Precision:
    """The precision in which a device trains fastest: bf16 where it multiplies that itself, else fp32.

    A GPU is fastest in it with everything else, too.
    """
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    return "bf16" if device.type != "cpu" or has_bf16() else "fp32"


def _pack_children(module: nn.Module, dtype: torch.dtype) -> None:
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            setattr(module, name, PackedLinear(child.weight, child.bias, dtype))
        elif isinstance(child, SharedEmbedding):
            setattr(module, name, PackedEmbedding(child, dtype))
        else:
            _pack_children(child, dtype)
