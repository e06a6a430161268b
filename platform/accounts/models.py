from django.contrib.auth.models import AbstractUser


class User(AbstractUser):
    """Someone who signs in: a researcher, or an admin (`is_superuser`), who sees everything.

    Crowd workers have no account; see `crowd.models.Worker`.
    """
