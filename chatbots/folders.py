"""Which folders of this machine may hold models: those that an admin names, and what must be in them.

Whoever registers a bot makes this machine read files. Without a rule, errors would tell them which files
there are, and whose.
"""

import os
from pathlib import Path

VARIABLE = "TURNWISE_MODEL_FOLDERS"


def allowed_folders() -> list[Path]:
    """The folders of TURNWISE_MODEL_FOLDERS, separated as in PATH."""
    named = os.environ.get("TURNWISE_MODEL_FOLDERS", "").split(os.pathsep)
    return [Path(each).resolve() for each in named if each.startswith("/")]


def allowed_path(written: str) -> Path:
    """The path of a model, links followed, if it is below a folder that an admin names.

    Looks at nothing outside of these, and says the same whatever is there.

    Raises:
        ValueError: it is not.
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
    """The folder of a model that was trained here.

    Args:
        written: the folder, as a setting names it.
        guide: the page of the manual that says how one is trained.
        shipped: a folder that needs no admin's leave, because it comes with Turnwise.

    Raises:
        ValueError: it is not below a folder that an admin names, or holds no model.
    """
    path = shipped if shipped and written == str(shipped) else allowed_path(written)
    if not (path / "config.json").is_file():
        raise ValueError(f"no model is there. Train one ({guide}) and name its folder")
    return str(path)
