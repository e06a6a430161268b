"""Files of this machine that bots may use.

Models: only folders that an admin names, and `models` of the data folder (TURNWISE_VAR), with a check of
their contents. Anyone who registers a bot makes this machine read files; without a rule, errors would tell
them which files exist and whose they are. Hashes of files serve fingerprints.

A lab's own code: the folders of TURNWISE_BOT_PATH. Their modules are imported as parts of the package
`turnwise_lab`, so that a file named like a module of Python hides nothing; they import each other with a dot
(`from .shared import …`). Settings can name only code that an admin put there, nothing else of this machine.
"""

import hashlib
import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from chatbots.errors import last_line

VARIABLE = "TURNWISE_MODEL_FOLDERS"


def allowed_folders() -> list[Path]:
    """List the folders of TURNWISE_MODEL_FOLDERS, separated as in PATH, and `models` of the data folder."""
    named = os.environ.get("TURNWISE_MODEL_FOLDERS", "").split(os.pathsep)
    if data := os.environ.get("TURNWISE_VAR"):
        named.append(os.path.join(os.path.abspath(data), "models"))
    return [Path(each).resolve() for each in named if each.startswith("/")]


def allowed_path(written: str) -> Path:
    """Resolve the path of a model, links followed, if it is below one of `allowed_folders`.

    Reads nothing outside these folders; its error is the same whether or not a file exists there.

    Raises:
        ValueError: it is not below one.
    """
    if not written.startswith("~"):
        try:
            path = Path(written).resolve()
        except (OSError, RuntimeError, ValueError):  # a circle of links, a null character
            path = None
        if path and any(path.is_relative_to(folder) for folder in allowed_folders()):
            return path
    raise ValueError(f"is in no folder where models may be. An admin names such folders in {VARIABLE}")


def trained_model(written: str, *, guide: str, shipped: Path | None = None) -> str:
    """Resolve the folder of a model that was trained with this package.

    Args:
        written: the folder, as a setting names it.
        guide: the page of the manual that explains training.
        shipped: a folder of Turnwise itself,
            which needs no admin's permission.

    Raises:
        ValueError: it is not below a folder that an admin names, or holds no model.
    """
    path = shipped if shipped and written == str(shipped) else allowed_path(written)
    if not (path / "config.json").is_file():
        raise ValueError(f"no model is there. Train one ({guide}) and name its folder")
    return str(path)


def hash_of(paths: Sequence[Path]) -> str:
    """Hash (SHA-256, hexadecimal) the files' contents in that order."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


PACKAGE = "turnwise_lab"


def folders() -> list[Path]:
    """List the folders of TURNWISE_BOT_PATH, in its order; separated as in PATH."""
    return [Path(part) for part in os.environ.get("TURNWISE_BOT_PATH", "").split(os.pathsep) if part]


def missing_folders() -> dict[str, str]:
    """Map each folder of TURNWISE_BOT_PATH that does not exist to an instruction."""
    cure = "there is no such folder. Create it, or fix TURNWISE_BOT_PATH"
    return {f"TURNWISE_BOT_PATH={folder}": cure for folder in folders() if not folder.is_dir()}


def module_names() -> list[str]:
    """List the import names of the lab's modules; those that begin with an underscore are left out."""
    paths = _package().__path__
    return [
        f"{PACKAGE}.{module.name}"
        for module in pkgutil.iter_modules(paths)
        if not module.name.startswith("_")
    ]


def lab_object(path: str) -> Any:
    """Import a class, a function or a module of the lab.

    Args:
        path: `module` or `module:name`, relative to a folder of TURNWISE_BOT_PATH.

    Raises:
        ValueError: there is none; the message says why and what to do.
        Exception: any error that the
            module raises while it is imported.
    """
    module_name, _, name = path.partition(":")
    module = _module(module_name)
    if not name:
        return module
    attribute = getattr(module, name, None)
    if attribute is None or not str(getattr(attribute, "__module__", "")).startswith(f"{PACKAGE}."):
        raise ValueError(
            f"{path}: the module '{module_name}' defines no '{name}'. Name a class or function of that file."
        )
    return attribute


def check_path(path: str) -> str:
    """Refuse a path that leads to no code of the lab, before it is stored.

    Returns:
        The path, unchanged.

    Raises:
        ValueError: there is no such class, function or module, or its module cannot be imported.
    """
    try:
        lab_object(path)
    except ValueError:
        raise
    except Exception as error:  # the lab's code may raise anything
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
    """Create or return the package whose parts are the modules of the folders as they are now."""
    package = sys.modules.setdefault(PACKAGE, ModuleType(PACKAGE))
    package.__path__ = [str(folder) for folder in folders()]
    return package
