"""The frame of a model's own commands: `python -m chatbots meena …` and its like."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Commands = Any
"""The action that `argparse` adds commands to, which has no public name."""


def run_command(
    name: str,
    description: str | None,
    add_subcommands: Callable[[Commands], None],
    arguments: Sequence[str],
) -> int:
    """Run one command of a package.

    Args:
        name: of the package, as typed.
        description: shown by --help.
        add_subcommands: adds the commands, each with a function `run` of the options.
        arguments: what follows the name.

    Returns:
        The exit status: 0, 2 after one line of error on the standard error stream, or 130 if interrupted.
    """
    parser = argparse.ArgumentParser(prog=f"python -m chatbots {name}", description=description)
    add_subcommands(parser.add_subparsers(required=True, metavar="COMMAND"))
    options = parser.parse_args(arguments)
    try:
        options.run(options)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if not isinstance(error, (ValueError, OSError, *_of_training())):
            raise
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    return 0


def print_preset(name: str, parts: Mapping[str, int], config: Mapping[str, Any], **told: Any) -> None:
    """Print a configuration with the parameters of its model, by part and in total, as JSON.

    Args:
        name: of the configuration.
        parts: how many parameters each part has; "total" is that of all.
        config: as its files have it.
        **told: what else there is to say of it.
    """
    by_part = {part: parameters for part, parameters in parts.items() if part != "total"}
    found = {"preset": name, "parameters": parts["total"], "by_part": by_part, **told, "config": config}
    print(json.dumps(found, indent=1))


def _of_training() -> tuple[type[Exception], ...]:
    """Errors of models; without PyTorch none of them can have been raised."""
    if "torch" not in sys.modules:
        return ()
    from chatbots.training.checkpoint import CheckpointError
    from chatbots.training.running import TrainingDivergedError

    return CheckpointError, TrainingDivergedError
