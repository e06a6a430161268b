"""Decoders beside an encoder whose rows have been decoded for different numbers of steps.

The decoders of encoder-decoder models take no positions from outside: they count them by the length of their
cache, one count for all rows. Two kinds can be told otherwise. Those of the kind of BART (BlenderBot, Marian,
mBART, Pegasus) look the count up in a table, `embed_positions`, where each row's own can be put in its place.
Those of the kind of T5 know only the distance between two tokens, which padding on the left leaves as it is.

Shapes: n rows.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor


def has_positions_of_rows(model: Any) -> bool:
    """Whether rows of the decoder can each have a position of their own."""
    return _table(model) is not None or _counts_distances(model)


@contextmanager
def positions_of_rows(model: Any, positions: Tensor) -> Iterator[None]:
    """Decode one token of each row at the row's own position.

    Args:
        model: with an encoder. One of neither kind counts as ever: all its positions must be the same.
        positions: tokens that each row's decoder has read before, (n,).
    """
    table = _table(model)
    if table is None:
        yield
        return

    def ask(_table: Any, given: Any, named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return given, {**named, "position_ids": positions}  # as of one row of n tokens

    def answer(_table: Any, _given: Any, found: Tensor) -> Tensor:
        return found.reshape(len(positions), 1, -1)  # of n rows of one token

    hooks = table.register_forward_pre_hook(ask, with_kwargs=True), table.register_forward_hook(answer)
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _table(model: Any) -> Any:
    """The decoder's table of positions, if it can be asked for given ones; else None."""
    table = getattr(model.get_decoder(), "embed_positions", None)
    if table is None or "position_ids" not in inspect.signature(table.forward).parameters:
        return None
    return table


def _counts_distances(model: Any) -> bool:
    return hasattr(model.config.get_text_config(), "relative_attention_num_buckets")
