from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """Someone who signs in: a researcher, or an admin (`is_superuser`), who sees everything.

    Crowd workers have no account; see `crowd.models.Worker`.
    """


class ApiToken(models.Model):
    """Lets a program act for its owner. The token itself is known only in the moment it is made."""

    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    title = models.CharField(max_length=80, help_text="What it is for, such as: script on the GPU server")
    digest = models.CharField(max_length=64, unique=True, editable=False, help_text="SHA-256 of the token.")
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(null=True, blank=True, help_text="To the minute.")

    class Meta:
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return self.title
