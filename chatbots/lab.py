"""A lab's own code: the folders of TURNWISE_BOT_PATH.

Their modules are imported as parts of the package `turnwise_lab`, so that a file named like a module of
Python hides nothing; among themselves they import with a dot (`from .shared import …`). Only what an admin
put there is imported: settings that researchers write can name it, and nothing else of this machine.
"""

import importlib
import os
import pkgutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from chatbots.errors import last_line

PACKAGE = "turnwise_lab"


def folders() -> list[Path]:
    """The folders of TURNWISE_BOT_PATH, in its order; separated as those of PATH are."""
    return [Path(part) for part in os.environ.get("TURNWISE_BOT_PATH", "").split(os.pathsep) if part]


def missing_folders() -> dict[str, str]:
    """What TURNWISE_BOT_PATH names although there is no such folder: the part → what to do."""
    cure = "there is no such folder. Create it, or fix TURNWISE_BOT_PATH"
    return {f"TURNWISE_BOT_PATH={folder}": cure for folder in folders() if not folder.is_dir()}


def module_names() -> list[str]:
    """Names under which the lab's modules are imported; those that begin with an underscore are left out."""
    paths = _package().__path__
    return [
        f"{PACKAGE}.{module.name}"
        for module in pkgutil.iter_modules(paths)
        if not module.name.startswith("_")
    ]


def lab_object(path: str) -> Any:
    """A class, a function or a module of the lab.

    Args:
        path: `module` or `module:name`, relative to a folder of TURNWISE_BOT_PATH.

    Raises:
        ValueError: there is none; says why and what to do.
        Exception: whatever the module raises while it is imported.
    """
    module_name, _, name = path.partition(":")
    module = _module(module_name)
    if not name:
        return module
    found = getattr(module, name, None)
    if found is None or not str(getattr(found, "__module__", "")).startswith(f"{PACKAGE}."):
        raise ValueError(
            f"{path}: the module '{module_name}' defines no '{name}'. Name a class or function of that file."
        )
    return found


def check_path(path: str) -> str:
    """Refuse a path that leads to nothing of the lab, before it is stored.

    Returns:
        The path, unchanged.

    Raises:
        ValueError: there is no such class, function or module, or its module cannot be imported.
    """
    try:
        lab_object(path)
    except ValueError:
        raise
    except Exception as error:  # whatever the lab's code raises
        raise ValueError(f"its module cannot be imported: {last_line(error)}. Fix it") from None
    return path


def _module(name: str) -> ModuleType:
    if not os.environ.get("TURNWISE_BOT_PATH"):
        raise ValueError(
            f"{name}: no code of a lab is known here. An admin sets TURNWISE_BOT_PATH to the folder with it."
        )
    if not all(part.isidentifier() for part in name.split(".")):
        raise ValueError(f"'{name}' is not the name of a module. Write module or module:Class.")
    _package()
    try:
        return importlib.import_module(f"{PACKAGE}.{name}")
    except ModuleNotFoundError as error:
        if error.name and f"{PACKAGE}.{name}".startswith(error.name):
            places = ", ".join(map(str, folders()))
            raise ValueError(
                f"{name}: there is no {name}.py in {places} (TURNWISE_BOT_PATH). Put it there."
            ) from None
        raise


def _package() -> ModuleType:
    """The package whose parts are the modules of the folders as they are now."""
    package = sys.modules.setdefault(PACKAGE, ModuleType(PACKAGE))
    package.__path__ = [str(folder) for folder in folders()]
    return package
