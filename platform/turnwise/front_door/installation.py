"""Name, logo and texts of this installation, from its settings."""

from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from django.conf import settings

LOGO_TYPES = {".svg": "image/svg+xml", ".png": "image/png", ".webp": "image/webp", ".jpg": "image/jpeg"}
LONGEST_TEXT = 100_000


@dataclass(frozen=True, slots=True)
class Installation:
    """Description of this installation on its first page.

    Attributes:
        name: its own name; "Turnwise" without one.
        organization: who runs it; empty if unknown.
        contact: e-mail address for questions; empty if there is none.
        has_logo: whether it has a logo of its own.
        has_imprint: whether it has an imprint.
        has_privacy_notice: whether it says what it does with personal data.
        version: of Turnwise.
    """

    name: str
    organization: str
    contact: str
    has_logo: bool
    has_imprint: bool
    has_privacy_notice: bool
    version: str


def describe() -> Installation:
    return Installation(
        name=settings.INSTALLATION_NAME or "Turnwise",
        organization=settings.ORGANIZATION,
        contact=settings.CONTACT,
        has_logo=logo_file() is not None,
        has_imprint=settings.IMPRINT is not None,
        has_privacy_notice=settings.PRIVACY_NOTICE is not None,
        version=version("turnwise"),
    )


def logo_file() -> Path | None:
    """The file of the logo; None if there is none, or of a kind that browsers do not show."""
    file: Path | None = settings.LOGO
    return file if file and file.suffix.lower() in LOGO_TYPES and file.is_file() else None


def text_of(file: Path) -> str:
    """A text of the operator, in Markdown. Read each time, so that a change needs no restart."""
    with file.open(encoding="utf-8", errors="replace") as text:
        return text.read(LONGEST_TEXT)
