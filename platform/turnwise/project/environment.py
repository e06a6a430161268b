"""Reading of environment variables. A value that cannot be read ends the program with the cure."""

import os
import re
from pathlib import Path


def flag(name: str, default: bool) -> bool:
    """Read a variable that is yes or no.

    Raises:
        SystemExit: it is none, with the cure.
    """
    value = os.environ.get(name, "").strip().lower()
    if value in ("", "1", "true", "yes", "0", "false", "no"):
        return default if value == "" else value in ("1", "true", "yes")
    raise SystemExit(f"{name}={value!r} is neither yes nor no. Set it to one of: yes, no, 1, 0, true, false.")


def number(name: str, default: float) -> float:
    """Read a variable that is a number.

    Raises:
        SystemExit: it is none, with the cure.
    """
    value = os.environ.get(name, "").strip()
    try:
        return float(value or default)
    except ValueError:
        raise SystemExit(
            f"{name}={value!r} is not a number. Write it like {default:g}, or unset it."
        ) from None


def rate(name: str, default: str) -> str:
    """Read a variable that is a rate, such as 1200/m.

    Raises:
        SystemExit: it is none, with the cure.
    """
    value = os.environ.get(name, "").strip() or default
    if not re.fullmatch(r"[1-9][0-9]{0,8}/[smhd]", value):
        raise SystemExit(
            f"{name}={value!r} is not a rate. Write a number and /s, /m, /h or /d, such as {default}."
        )
    return value


def file(name: str) -> Path | None:
    """Read a variable that is the path of a file; None if it is unset.

    Raises:
        SystemExit: it is none, with the cure.
    """
    value = os.environ.get(name, "").strip()
    if value and not Path(value).is_file():
        raise SystemExit(f"{name}={value!r} is not a file. Give the path of one, or unset it.")
    return Path(value).resolve() if value else None


def mail_address(name: str, value: str) -> str:
    """Return an e-mail address without blanks around it; "" if it is empty.

    Raises:
        SystemExit: it is none, with the cure.
    """
    value = value.strip()
    if value and not re.fullmatch(r"[^\s@<>]+@[^\s@<>]+\.[^\s@<>]+", value):
        raise SystemExit(f"{name}={value!r} is not an e-mail address, such as lab@example.org.")
    return value
