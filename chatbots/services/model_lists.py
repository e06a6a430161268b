"""Lists of models in the answers of services."""

from collections.abc import Mapping
from typing import Any

from chatbots.errors import ServiceError

MOST_MODELS = 2_000
_NAMES = ("id", "name", "model")


def names_of_models(answer: Any, url: str) -> list[str]:
    """Return the names in a list of models, sorted, at most `MOST_MODELS`.

    Args:
        answer: an object with a list in `data` or `models`, whose entries have an `id` or a `name`.
        url: for messages.

    Raises:
        ServiceError: the answer has no such list.
    """
    entries = (
        next((answer[key] for key in ("data", "models") if key in answer), None)
        if isinstance(answer, Mapping)
        else None
    )
    if not isinstance(entries, list):
        raise ServiceError(f"{url} answered without a list of models. Type the model's name instead.")
    names = {_name(entry) for entry in entries if isinstance(entry, Mapping)}
    return sorted(filter(None, names))[:MOST_MODELS]


def _name(entry: Mapping[str, Any]) -> str:
    name = next((entry[key] for key in _NAMES if isinstance(entry.get(key), str)), "")
    return str(name).removeprefix("models/")
