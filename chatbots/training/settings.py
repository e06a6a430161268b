"""What configurations of models and settings of training have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self, TypeVar

Preset = TypeVar("Preset")


def check_range(name: str, value: float, *, least: float, most: float = math.inf) -> None:
    """Refuse a setting below `least` or above `most`, or that is infinite or no number.

    Raises:
        ValueError: names the setting, its value and its range.
    """
    if not least <= value <= most or math.isinf(value):
        end = f" and at most {most:,}" if most < math.inf else ""
        raise ValueError(f"{name}={value} must be at least {least:g}{end}.")


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The shape of a model, which its checkpoints keep as JSON."""

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, for JSON; `from_dict` reads them back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Raises:
            ValueError: a key that is no field (a checkpoint of another version), or a value out of range.
        """
        unknown = values.keys() - {field.name for field in fields(cls)}
        if unknown:
            raise ValueError(
                f"Unknown configuration keys {sorted(unknown)}. Was this written by a newer version?"
            )
        return cls(**values)


def named(presets: Mapping[str, Preset], name: str) -> Preset:
    """The preset of that name.

    Raises:
        ValueError: no such preset; the message lists them.
    """
    if name not in presets:
        raise ValueError(f"No preset is called {name!r}. Presets: {', '.join(presets)}.")
    return presets[name]
