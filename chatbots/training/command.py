"""The command line of a package with trained models: `python -m chatbots meena …` and its like.

A package declares its commands as a sequence of `Command`; their common parts are here.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import torch

    from chatbots.training.settings import ModelConfig

Settings = TypeVar("Settings")


@dataclass(frozen=True)
class Command:
    """One command of a package.

    Attributes:
        name: as typed.
        summary: its line in the list of commands.
        add_options: declares its options.
        run: executes it, and prints its result.
    """

    name: str
    summary: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]


def run_command(
    package: str, description: str | None, commands: Iterable[Command], arguments: Sequence[str]
) -> int:
    """Run one command of a package.

    Args:
        package: its name, as typed.
        description: shown by --help.
        commands: all commands of the package.
        arguments: after the package's name.

    Returns:
        The exit status: 0, 2 after one line of error on the standard error stream, or 130 if interrupted or
        if the reader of the output is gone.
    """
    parser = argparse.ArgumentParser(prog=f"python -m chatbots {package}", description=description)
    parsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in commands:
        subparser = parsers.add_parser(command.name, help=command.summary)
        command.add_options(subparser)
        subparser.set_defaults(run=command.run)
    options = parser.parse_args(arguments)
    try:
        options.run(options)
    except (KeyboardInterrupt, BrokenPipeError):
        return 130
    except Exception as error:
        if not isinstance(error, (ValueError, OSError, *_model_errors())):
            raise
        print(f"{package}: {error}", file=sys.stderr)
        return 2
    return 0


def preset_option(presets: Iterable[str], default: str) -> Callable[[argparse.ArgumentParser], None]:
    """Declare the option of `describe` for the preset."""

    def add(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--preset", choices=presets, default=default)

    return add


def add_export_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `export`, for `weights_to_export`."""
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="bf16")


def weights_to_export(options: argparse.Namespace) -> dict[str, torch.Tensor]:
    """Load the checkpoint's weights in the precision that the options name."""
    import torch

    from chatbots.training.checkpoint import read_weights

    dtype = torch.bfloat16 if options.precision == "bf16" else torch.float32
    return {name: weight.to(dtype) for name, weight in read_weights(options.checkpoint).items()}


def settings_from(options: argparse.Namespace, kind: type[Settings], **changed: Any) -> Settings:
    """Create settings from options of the same names, except for fields in `changed`."""
    names = {field.name for field in fields(kind)} - changed.keys()  # type: ignore[arg-type]
    return kind(**{name: getattr(options, name) for name in names}, **changed)


def provided_options(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return those of these options that have a value, by name."""
    return {name: value for name in names if (value := getattr(options, name)) is not None}


def print_preset(name: str, parts: Mapping[str, int], config: ModelConfig, **more: Any) -> None:
    """Print a configuration with the parameters of its model, by part and in total, as JSON.

    Args:
        name: name of the configuration.
        parts: number of parameters by part, with "total".
        config: the configuration.
        **more: printed before the configuration.
    """
    by_part = {part: parameters for part, parameters in parts.items() if part != "total"}
    report = {"preset": name, "parameters": parts["total"], "by_part": by_part, **more}
    print(json.dumps(report | {"config": config.to_dict()}, indent=1))


def _model_errors() -> tuple[type[Exception], ...]:
    """Errors of models; without PyTorch none can be raised."""
    if "torch" not in sys.modules:
        return ()
    from chatbots.training.checkpoint import CheckpointError
    from chatbots.training.running import TrainingDivergedError

    return CheckpointError, TrainingDivergedError
