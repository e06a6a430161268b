"""Versioned sets: content that a researcher owns under a name, in versions that never change.

Context sets and knowledge bases are such sets. `versioned_pages` has their pages.
"""

from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from turnwise.accounts.access import visible_to
from turnwise.accounts.models import User

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

Text: TypeAlias = "str | _StrPromise"


class VersionedSet(models.Model):
    """A name, a licence and an owner; the versions hold the content."""

    address: ClassVar[str]
    """Name of the address of a set's page."""

    name: "models.SlugField[str, str]"
    title = models.CharField(max_length=120, verbose_name=_("title"))
    description = models.TextField(max_length=4000, blank=True, verbose_name=_("description"))
    licence: "models.CharField[str, str]"
    owner: "models.ForeignKey[Any, Any]"
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True
        ordering = ("title", "pk")

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse(self.address, args=[self.pk])


def name_field(help_text: Text) -> "models.SlugField[str, str]":
    return models.SlugField(max_length=60, verbose_name=_("name"), help_text=help_text)


def licence_field(help_text: Text) -> "models.CharField[str, str]":
    return models.CharField(max_length=120, verbose_name=_("licence"), help_text=help_text)


def owner_field(related_name: str) -> "models.ForeignKey[User | None, User | None]":
    return models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name=related_name,
        help_text=_("Nobody: it ships with the platform, and every researcher can use it."),
    )


def once_per_owner(name: str, refusal: Text) -> models.UniqueConstraint:
    """Constraint: set names are unique per owner, and among the shipped sets."""
    return models.UniqueConstraint(
        fields=("owner", "name"), name=name, nulls_distinct=False, violation_error_message=refusal
    )


class SetVersion(models.Model):
    """The content of one import into a set. It never changes: a trigger refuses it."""

    address: ClassVar[str]
    """Name of the address of a version's page."""
    set_field: ClassVar[str]
    """Name of the foreign key to the set."""

    number = models.PositiveIntegerField()
    content_hash: "models.CharField[str, str]"
    origin = models.CharField(max_length=200, blank=True, help_text=_("Name of the imported file."))
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{getattr(self, self.set_field).title}, version {self.number}"

    def get_absolute_url(self) -> str:
        return reverse(self.address, args=[getattr(self, f"{self.set_field}_id"), self.number])


S = TypeVar("S", bound=VersionedSet)
V = TypeVar("V", bound=SetVersion)


# --- access ----------------------------------------------------------------------------------------


def editable(user: User | AnonymousUser, model: type[S]) -> models.QuerySet[S]:
    """Sets into which this person may import new versions."""
    return visible_to(user, model._default_manager.exclude(owner=None), owner="owner")


def versions_in(sets: models.QuerySet[S], model: type[V]) -> models.QuerySet[V]:
    """Versions of these sets, ordered by title, newest first."""
    versions = model._default_manager.filter(**{f"{model.set_field}__in": sets})
    return versions.select_related(model.set_field).order_by(f"{model.set_field}__title", "-number")


# --- writing ---------------------------------------------------------------------------------------


@transaction.atomic
def save(versioned: S) -> S:
    """Store a new or edited set.

    Raises:
        ValidationError: a value is invalid, or the owner has another set of that name.
    """
    versioned.full_clean()
    versioned.save()
    return versioned


@transaction.atomic
def add_version(
    versions: "models.Manager[V]", versioned: VersionedSet, digest: str, *, refusal: str, **content: Any
) -> V:
    """Store the next version of a set, without its content.

    Args:
        versions: versions of the set.
        versioned: the set.
        digest: hash of the content, unique within a set.
        refusal: message if a version has this content already; `%(number)s` stands for its number.
        content: other fields of the version.

    Raises:
        ValidationError: a version has this content already.
    """
    _lock(versioned)
    if same := versions.filter(content_hash=digest).first():
        raise ValidationError(refusal % {"number": same.number})
    latest = versions.first()
    return versions.create(number=latest.number + 1 if latest else 1, content_hash=digest, **content)


def shipped(model: type[S], name: str, **about: str) -> S:
    """The shipped set of that name, created if it is missing, and locked."""
    versioned, _is_new = model._default_manager.get_or_create(owner=None, name=name, defaults=about)
    _lock(versioned)
    return versioned


def _lock(versioned: VersionedSet) -> None:
    type(versioned)._default_manager.select_for_update().get(pk=versioned.pk)
