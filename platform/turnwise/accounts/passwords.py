"""What a password must have besides what Django's own validators ask."""

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from turnwise.accounts.models import User


class DifferentCharacters:
    """Refuses passwords of few different characters, such as aaaaaaaaaaaa."""

    def __init__(self, fewest: int = 5) -> None:
        self._fewest = fewest

    def validate(self, password: str, user: User | None = None) -> None:
        if len(set(password)) < self._fewest:
            raise ValidationError(
                _("This password has %(n)s different characters. Use %(fewest)s or more.")
                % {"n": len(set(password)), "fewest": self._fewest},
                code="password_too_uniform",
            )

    def get_help_text(self) -> str:
        return f"Your password must have {self._fewest} or more different characters."
