"""Packed weights in huge pages of memory, 2 MB each, where the system has them.

Every token needs all weights. In pages of 4 kB, scattered over the memory of a machine that has been running
for a while, the processor spends up to a seventh of a reply on finding them.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

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
        The number of huge pages that hold a part of them now.
    """
    if not sys.platform.startswith("linux"):
        return 0
    places = [(ONEDNN.data_ptr(weight), ONEDNN._nbytes(weight)) for weight in weights]
    pages = {page for start, size in places for page in range(start // PAGE, -(-(start + size) // PAGE))}
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return sum(advise(page * PAGE, PAGE, COLLAPSE) == 0 for page in sorted(pages))
