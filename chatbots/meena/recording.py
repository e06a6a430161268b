"""Steps that a GPU repeats by itself.

One token of a large model takes a thousand kernels of a few microseconds each: calling them one by one takes
several times as long as running them. A CUDA graph calls all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

MOST = 16
"""Graphs that are kept at once."""


class Recorded:
    """Runs a piece of work; on a GPU, records it the first time and replays that from then on.

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
            work: never waits for the device; done twice, it leaves what it leaves done once.
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
    """A graph of the work; libraries set themselves up in another round, before they are recorded."""
    beside: torch.cuda.Stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        work()
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    # Other threads may go on with bots of their own.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        work()
    return graph
