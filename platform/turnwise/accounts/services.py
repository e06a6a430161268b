import secrets

from turnwise.accounts.models import User

FIRST_ADMIN = "admin"


def create_first_admin() -> tuple[str, str] | None:
    """Create an admin with a generated password if there is none yet.

    Returns:
        Name and password, the only time the password is known; None if an admin exists.
    """
    if User.objects.filter(is_superuser=True).exists():
        return None
    password = secrets.token_urlsafe(12)
    User.objects.create_superuser(FIRST_ADMIN, password=password)
    return FIRST_ADMIN, password
