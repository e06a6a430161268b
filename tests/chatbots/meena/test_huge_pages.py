"""Packed weights lie in huge pages, as Linux itself counts them, and are the same weights."""

import ctypes
import mmap
import re
import sys
from pathlib import Path

import pytest
import torch

from chatbots.meena.acceleration import PAGE, PackedLinear, can_pack, gather, pack
from chatbots.meena.config import MeenaConfig
from chatbots.meena.model import Meena

TRIED = 32
"""More huge pages than any test here needs."""


def this_system_has_them():
    """Whether so much memory of our own can be moved into some, tried without the code under test."""
    if not sys.platform.startswith("linux"):
        return False
    with mmap.mmap(-1, (TRIED + 1) * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory[:] = b"x" * len(memory)
        view = ctypes.c_char.from_buffer(memory)
        first = -(-ctypes.addressof(view) // PAGE) * PAGE
        size = ctypes.c_size_t(TRIED * PAGE)
        advised = ctypes.CDLL(None).madvise(ctypes.c_void_p(first), size, 25)
        del view
        return advised == 0


pytestmark = pytest.mark.skipif(not can_pack(), reason="this processor or PyTorch has no packed products")


@pytest.fixture(autouse=True, scope="module")
def _huge_pages():
    if not this_system_has_them():
        pytest.skip("this system moves nothing into huge pages")


def in_huge_pages():
    """Bytes of this process that are, of memory that belongs to no file."""
    told = Path("/proc/self/smaps_rollup").read_text()
    return 1024 * int(re.search(r"^AnonHugePages: +(\d+) kB", told, re.M)[1])


def test_weights_move_into_huge_pages_and_stay_the_same():
    torch.manual_seed(0)
    x, layer = torch.randn(3, 2048), PackedLinear(torch.randn(2048, 2048), None, torch.float32)  # 16 MB
    place, expected = torch.ops.mkldnn.data_ptr(layer.weight), layer(x)
    assert gather([layer.weight]) >= 7  # all pages that it fills, whatever its edges share with others
    assert in_huge_pages() >= 7 * PAGE
    assert torch.ops.mkldnn.data_ptr(layer.weight) == place
    assert torch.equal(layer(x), expected)


def test_a_packed_model_is_there():
    sizes = {"hidden_size": 512, "heads": 8, "decoder_blocks": 1, "vocabulary_size": 4000}
    model = Meena(MeenaConfig(**sizes, response_length=16)).eval().requires_grad_(False)
    packed = pack(model, torch.float32)
    weights = [layer.weight for layer in packed.modules() if isinstance(layer, PackedLinear)]
    size = sum(torch.ops.mkldnn._nbytes(weight) for weight in weights)
    assert in_huge_pages() > size / 2  # many are smaller than a page, and lie beside other things
