"""A model on another device than the CPU finds all its tensors there.

The other device is PyTorch's "meta", which every machine has: it computes shapes alone, and refuses an
operation on tensors of two devices as a GPU does.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import numpy as np
import pytest
import torch

from chatbots.meena.acceleration import Recorded
from chatbots.meena.attention import MANY_ROWS
from chatbots.meena.config import preset
from chatbots.meena.model import Meena
from chatbots.meena.sampling import draw
from chatbots.meena.training.perplexity import negative_log_likelihood
from chatbots.training.running import pick_device

ELSEWHERE = torch.device("meta")


@pytest.fixture(autouse=True)
def _without_autocast(monkeypatch: pytest.MonkeyPatch) -> None:
    # which does not know of this device; it changes types, not devices
    monkeypatch.setattr(torch, "autocast", lambda *args, **options: nullcontext())


@pytest.fixture(params=["tiny", "tiny-vanilla"])
def model(request: pytest.FixtureRequest) -> Meena:
    with ELSEWHERE:
        return Meena(preset(request.param)).eval()


def test_the_device_refuses_tensors_of_two_devices() -> None:
    with pytest.raises(RuntimeError, match=r"device meta is not on the expected device"):
        torch.zeros(3) + torch.zeros(3, device=ELSEWHERE)


@pytest.mark.parametrize("top_k", [None, 40])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_decoding_stays_on_the_models_device(model: Meena, dtype: torch.dtype, top_k: int | None) -> None:
    model = model.to(dtype).requires_grad_(False)
    state = model.new_state(contexts=3, samples=3)
    model.admit(state, [[5, 6, 7], [8, 9]])
    for rows in (6, 6):
        scores = model.step(torch.zeros(rows, dtype=torch.long, device=ELSEWHERE), state)
    tokens, log_likelihood = draw(
        scores,
        torch.zeros(6, dtype=torch.float64, device=ELSEWHERE),
        temperature=0.88,
        top_k=top_k,
    )
    assert (tokens.device, log_likelihood.device) == (ELSEWHERE, ELSEWHERE)

    state.release_rows(np.array([False, True, False, False, True, False]))
    model.admit(state, [[5]])  # another joins, whose rows stand elsewhere
    scores = model.step(torch.zeros(7, dtype=torch.long, device=ELSEWHERE), state)
    state.reorder_rows(np.arange(7)[::-1].copy())
    assert (scores.device, tuple(scores.shape)) == (ELSEWHERE, (7, model.config.vocabulary_size))


def test_many_rows_attend_in_batched_products_of_the_same_shape(model: Meena) -> None:
    state = model.new_state(contexts=2, samples=MANY_ROWS, steady=True)
    model.admit(state, [[5, 6, 7], [8, 9]])
    scores = model.step(torch.zeros(2 * MANY_ROWS, dtype=torch.long, device=ELSEWHERE), state)
    assert tuple(scores.shape) == (2 * MANY_ROWS, model.config.vocabulary_size)


def test_a_process_takes_its_own_gpu_before_it_touches_any(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which no machine without GPUs can run: what is asked of PyTorch is written down, in its order."""
    asked: list[object] = []
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: asked.append(("set_device", str(device))))
    monkeypatch.setattr(torch, "empty", lambda size, device: asked.append(("empty", str(device))))
    monkeypatch.setenv("LOCAL_RANK", "3")

    assert str(pick_device("cuda")) == "cuda:3"
    assert str(pick_device("cuda:1")) == "cuda:1"
    assert asked == [(what, gpu) for gpu in ("cuda:3", "cuda:1") for what in ("set_device", "empty")]


class Stream:
    def wait_stream(self, other: "Stream") -> None:
        pass


def test_a_gpu_records_a_step_once_and_then_replays_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a GPU, what is asked of PyTorch is written down: a step is warm before it is recorded."""
    asked: list[str] = []
    graphs: list[object] = []

    @contextmanager
    def recording(graph: object, capture_error_mode: str) -> Iterator[None]:
        asked.append("record")
        graphs.append(graph)
        yield
        asked.append("recorded")

    class Graph:
        def replay(self) -> None:
            asked.append(f"replay {graphs.index(self)}")

    for name, stand_in in (
        ("CUDAGraph", Graph),
        ("graph", recording),
        ("Stream", Stream),
        ("current_stream", Stream),
        ("stream", lambda stream: nullcontext()),
        ("device", lambda device: nullcontext(asked.append(str(device)))),
    ):
        monkeypatch.setattr(torch.cuda, name, stand_in)
    recorded = Recorded(torch.device("cuda:1"))

    for shapes in ((1, 20), (1, 20), (1, 40), (1, 20)):
        recorded.run(shapes, lambda: asked.append("work"))

    once = ["work", "cuda:1", "work", "record", "work", "recorded"]
    assert asked == [*once, "replay 0", *once, "replay 0"]


def test_gradients_are_on_the_models_device(model: Meena) -> None:
    given = torch.full((4, 8), 6, device=ELSEWHERE)
    targets = torch.full((4, 4), 7, device=ELSEWHERE)

    torch.autograd.backward(negative_log_likelihood(model(given, targets), targets))

    assert {weight.grad is not None and weight.grad.device for weight in model.parameters()} == {ELSEWHERE}
