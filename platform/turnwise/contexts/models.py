from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.contexts.tables import MAX_TURNS, MOST_MATERIAL
from turnwise.contexts.versioned import (
    SetVersion,
    VersionedSet,
    licence_field,
    name_field,
    once_per_owner,
    owner_field,
)


class ContextSet(VersionedSet):
    """A collection of contexts for static evaluation; its versions hold the contexts."""

    address = "contexts:set"

    name = name_field(_("Short name, also of exported files: open-mtb"))
    licence = licence_field(_("Under which the contexts may be used, such as Apache-2.0 or CC BY 4.0."))
    owner = owner_field("context_sets")

    class Meta(VersionedSet.Meta):
        constraints = (
            once_per_owner(
                "context_set_name_once_per_owner",
                _(
                    "You already have a context set of that name. Choose another, or "
                    "import a new version of that set."
                ),
            ),
        )


class ContextSetVersion(SetVersion):
    """The contexts of one import into a set. They never change: a trigger refuses it."""

    address = "contexts:version"
    set_field = "context_set"

    context_set = models.ForeignKey(ContextSet, on_delete=models.CASCADE, related_name="versions")
    content_hash = models.CharField(max_length=64, help_text=_("SHA-256 of the contexts in their order."))
    size = models.PositiveIntegerField(help_text=_("How many contexts."))

    class Meta(SetVersion.Meta):
        ordering = ("context_set", "-number")
        constraints = (
            models.UniqueConstraint(fields=("context_set", "number"), name="context_version_once"),
            models.UniqueConstraint(fields=("context_set", "content_hash"), name="context_content_once"),
            models.CheckConstraint(name="context_version_is_not_empty", condition=Q(size__gte=1)),
        )


class Context(models.Model):
    """The dialogue so far; an evaluated response answers its last turn.

    Speakers alternate, and the last turn is always the partner's.
    """

    # Without an own index: that of context_once_per_key begins with the version.
    version = models.ForeignKey(
        ContextSetVersion, on_delete=models.CASCADE, related_name="contexts", db_index=False
    )
    position = models.PositiveIntegerField(help_text=_("Place in the set, from 1."))
    key = models.CharField(max_length=100, help_text=_("The context's id in files; stable between versions."))
    turns = ArrayField(models.TextField(), help_text=_("Oldest first."))
    category = models.CharField(max_length=60, blank=True)
    language = models.CharField(max_length=10, help_text=_("ISO 639-1 code, such as en."))
    consistency = models.BooleanField(
        default=False, help_text=_("A right response must agree with something said in an earlier turn.")
    )
    material = ArrayField(
        models.TextField(),
        default=list,
        blank=True,
        help_text=_("Sentences to read for a response: bots get them, and raters see them beside it."),
    )
    extends = models.CharField(
        max_length=100, blank=True, help_text=_("Key of the context with all turns but the last.")
    )

    class Meta:
        ordering = ("version", "position")
        constraints = (
            models.UniqueConstraint(fields=("version", "key"), name="context_once_per_key"),
            models.UniqueConstraint(fields=("version", "position"), name="context_once_per_position"),
            models.CheckConstraint(
                name="context_has_turns", condition=Q(turns__len__gte=1, turns__len__lte=MAX_TURNS)
            ),
            models.CheckConstraint(
                name="context_material_is_short", condition=Q(material__len__lte=MOST_MATERIAL)
            ),
        )

    def __str__(self) -> str:
        return self.key
