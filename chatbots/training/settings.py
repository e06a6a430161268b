"""Common parts of models' configurations and training settings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Self, TypeVar

Preset = TypeVar("Preset")
LARGEST = 2**62
"""Largest whole number among settings."""


def check_range(name: str, value: float, *, least: float, most: float = math.inf) -> None:
    """Refuse a setting below `least`, above `most`, or not finite.

    Raises:
        ValueError: names the setting, its value and its range.
    """
    if not least <= value <= most or math.isinf(value):
        end = f" and at most {most:,}" if most < math.inf else ""
        raise ValueError(f"{name}={value} must be at least {least:g}{end}.")


def check_rate(learning_rate: float) -> None:
    """Refuse a learning rate that is not above 0 and finite.

    Raises:
        ValueError: names the rate.
    """
    if not 0 < learning_rate < math.inf:
        raise ValueError(f"learning_rate={learning_rate} must be above 0, and finite.")


def check_least(settings: object, least: Mapping[str, float]) -> None:
    """Refuse settings below their least values, or too large for a file.

    Args:
        settings: an object with all of them.
        least: the least value of each, by name.

    Raises:
        ValueError: names the setting, its value and its range.
    """
    for name, value in least.items():
        check_range(name, getattr(settings, name), least=value, most=LARGEST)


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The shape of a model; its checkpoints store it as JSON."""

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, for JSON; `from_dict` reads them back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Create from the result of `to_dict`.

        Raises:
            ValueError: an unknown key (a checkpoint of another version), or a value out of range.
        """
        unknown = values.keys() - {field.name for field in fields(cls)}
        if unknown:
            raise ValueError(
                f"Unknown configuration keys {sorted(unknown)}. Was this written by a newer version?"
            )
        return cls(**values)


@dataclass(frozen=True, kw_only=True)
class WordModelConfig(ModelConfig):
    """The shape of a word-level model, whose configuration has the field `vocabulary_size`."""

    if TYPE_CHECKING:
        # As a field it would come first in the files of every model.
        @property
        def vocabulary_size(self) -> int:
            """Words, the special ones included."""


def named(presets: Mapping[str, Preset], name: str) -> Preset:
    """Return the preset of that name.

    Raises:
        ValueError: no such preset; the message lists them.
    """
    if name not in presets:
        raise ValueError(f"No preset is called {name!r}. Presets: {', '.join(presets)}.")
    return presets[name]
