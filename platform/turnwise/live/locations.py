"""Locations of templates, static files, translations, the manual and the data folder.

In a checkout these files lie at its top; in an installed wheel they are in
`turnwise/resources`, laid out alike.
"""

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_PACKAGED = _PACKAGE / "resources"

IS_INSTALLED = _PACKAGED.is_dir()
"""True if this code comes from a wheel, False in a checkout."""
RESOURCES = _PACKAGED if IS_INSTALLED else _PACKAGE.parents[1]
"""Folder of `templates`, `static`, `locale`, `docs` and the pages of the manual beside them."""
SOURCE_ROOTS = (_PACKAGE.parent,) if IS_INSTALLED else (RESOURCES, RESOURCES / "platform")
"""Folders from which Python imports `turnwise`, `chatbots` and `evaluation`."""


def default_data_folder() -> Path:
    """Data folder if none is named: `var` in a checkout, else a folder below the user's home."""
    if not IS_INSTALLED:
        return RESOURCES / "var"
    shared = os.environ.get("XDG_DATA_HOME", "")
    # The standard says that a relative path is to be ignored.
    base = Path(shared) if Path(shared).is_absolute() else Path.home() / ".local" / "share"
    return base / "turnwise"


def data_folder() -> Path:
    """The data folder that TURNWISE_VAR names, else the default one."""
    return Path(os.environ.get("TURNWISE_VAR") or default_data_folder()).resolve()


def install_command(extra: str) -> str:
    """Command that installs an optional part, such as `embedded`."""
    return f"pip install 'turnwise[{extra}]'" if IS_INSTALLED else f"pip install -e '.[{extra}]'"
