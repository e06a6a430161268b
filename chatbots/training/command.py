"""The frame of a model's own commands: `python -m chatbots meena …` and its like."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
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


def _of_training() -> tuple[type[Exception], ...]:
    """Errors of models; without PyTorch none of them can have been raised."""
    if "torch" not in sys.modules:
        return ()
    from chatbots.training.checkpoint import CheckpointError
    from chatbots.training.running import TrainingDivergedError

    return CheckpointError, TrainingDivergedError
