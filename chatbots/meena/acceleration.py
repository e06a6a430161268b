"""Faster decoding: packed weights and huge pages on the CPU, recorded steps on a GPU.

oneDNN multiplies weights in blocks that fit the chip's registers and caches. Bringing a plain matrix into
that layout at every product costs a third of the time for the few rows of decoding, so the layout is made
once, in bf16 if the processor multiplies that.

Every token needs all weights. In pages of 4 kB, scattered over the memory of a machine that has been running
for a while, the processor spends up to a seventh of a reply on finding them. Huge pages of 2 MB avoid that.

One token of a large model takes a thousand GPU kernels of a few microseconds each: calling them one by one
takes several times as long as running them. A CUDA graph calls all of them at once.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable
from typing import Any, Literal

import torch
from torch import Tensor, nn

from chatbots.meena.model import Meena, SharedEmbedding

PAGE = 2**21
"""Bytes of a huge page."""
COLLAPSE = 25
"""MADV_COLLAPSE, since Linux 6.1."""
ONEDNN: Any = torch.ops.mkldnn


def gather(weights: Iterable[Tensor]) -> int:
    """Move weights into huge pages; their values and addresses stay.

    Weights stay where they are if the system cannot do it (other systems, Linux before 6.1) or has no huge
    page free.

    Args:
        weights: in oneDNN's layout.

    Returns:
        Number of huge pages that now hold parts of the weights.
    """
    if not sys.platform.startswith("linux"):
        return 0
    places = [(ONEDNN.data_ptr(weight), ONEDNN._nbytes(weight)) for weight in weights]
    pages = {page for start, size in places for page in range(start // PAGE, -(-(start + size) // PAGE))}
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return sum(advise(page * PAGE, PAGE, COLLAPSE) == 0 for page in sorted(pages))


MOST = 16
"""Largest number of graphs kept at once."""


class Recorded:
    """Piece of work that a GPU records the first time and replays afterwards.

    Args:
        device: where the work computes.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._graphs: dict[tuple[int, ...], torch.cuda.CUDAGraph] = {}

    def run(self, shapes: tuple[int, ...], work: Callable[[], None]) -> None:
        """Do the work.

        Args:
            shapes: as long as these are the same, the work calls the same kernels on the same memory.
            work: idempotent; never waits for the device.
        """
        if graph := self._graphs.get(shapes):
            graph.replay()
            return
        work()
        if self._device.type == "cuda":
            if len(self._graphs) == MOST:
                self._graphs.clear()
            with torch.cuda.device(self._device):
                self._graphs[shapes] = record(work)


def record(work: Callable[[], None]) -> torch.cuda.CUDAGraph:
    """Record the work as a graph, after a first run in which libraries initialise."""
    side_stream: torch.cuda.Stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side_stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side_stream):
        work()
    torch.cuda.current_stream().wait_stream(side_stream)
    graph = torch.cuda.CUDAGraph()
    # Other threads may run their bots meanwhile.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        work()
    return graph


Precision = Literal["fp32", "bf16"]
ROWS = 32
"""Number of rows for which the layout is optimised; it works for any number."""


class PackedLinear(nn.Module):
    """A dense layer with its weight in oneDNN's layout, (…, inputs) → (…, outputs), for inference alone.

    Products are summed in float32. A row's result does not depend on how many others there are, except in
    bf16 on a chip with AMX, whose kernels sum long rows in an order that does.

    Args:
        weight: (outputs, inputs).
        bias: (outputs,), or None.
        dtype: dtype of the product; inputs are rounded to it, outputs given back in the type of the inputs.
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
        """Compute the result of `forward` in the type of the product."""
        product: Tensor = ONEDNN._linear_pointwise.default(
            x.to(self.dtype), self.weight, self.bias, "none", [], ""
        )
        return product


class PackedEmbedding(nn.Module):
    """A shared embedding whose scores come from a packed product.

    Args:
        embedding: to replace.
        dtype: dtype of the product and of the scores.
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
    """Replace the dense layers of a model in float32 on the CPU by packed ones, in place.

    In bf16 on a chip with instructions for it, else in float32, which oneDNN still multiplies faster than
    PyTorch's default library. Everything between the products stays in float32. A model on a GPU, or on a CPU
    that PyTorch has no oneDNN for, is left as it is.

    Args:
        model: to be changed.
        dtype: dtype of the products; None: the fastest.

    Returns:
        The model, for inference alone.
    """
    if model.embedding.weight.device.type == "cpu" and can_pack():
        _pack_children(model, dtype or product_type())
        gather(layer.weight for layer in model.modules() if isinstance(layer, PackedLinear))
    return model


def can_pack() -> bool:
    """True if this processor and this PyTorch can multiply packed weights."""
    return torch.backends.cpu.get_cpu_capability().startswith("AVX") and bool(torch._C._has_mkldnn)


def product_type() -> torch.dtype:
    """The type in which this processor multiplies packed weights fastest: bf16 or float32."""
    return torch.bfloat16 if has_bf16() else torch.float32


def has_bf16() -> bool:
    """True if this processor multiplies bf16 matrices in hardware and oneDNN may use that.

    The environment variable ONEDNN_MAX_CPU_ISA restricts oneDNN's instructions; PyTorch ignores it.
    """
    native = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return bool(native and torch._C._has_mkldnn and ONEDNN._is_mkldnn_bf16_supported())


def training_precision(device: torch.device) -> Precision:
    """The precision in which a device trains fastest: bf16 if its hardware multiplies that, else fp32.

    On a GPU bf16 is also fastest for everything else.
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
