from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.contexts.versioned import (
    SetVersion,
    VersionedSet,
    licence_field,
    name_field,
    once_per_owner,
    owner_field,
)
from turnwise.knowledge.reading_sets import ARTICLE_SECTIONS, ENTITIES, KnownEntity, ReadableArticle


class KnowledgeBase(VersionedSet):
    """Entities and articles that people read while they talk; the versions hold the content."""

    address = "knowledge:base"

    name = name_field(_("Short name, also of exported files: open-knowledge"))
    licence = licence_field(_("Under which the texts may be used, such as CC0 1.0 or CC BY 4.0."))
    owner = owner_field("knowledge_bases")
    open_to_all = models.BooleanField(
        _("everybody can use it"),
        default=False,
        help_text=_("Everybody who signs in can read it and use it in studies."),
    )
    shared_with = models.ManyToManyField(
        settings.AUTH_USER_MODEL,
        blank=True,
        related_name="shared_knowledge_bases",
        help_text=_("Who may do so besides the owner and admins."),
    )

    class Meta(VersionedSet.Meta):
        constraints = (
            once_per_owner(
                "knowledge_base_name_once_per_owner",
                _(
                    "You already have a knowledge base of that name. Choose another, or "
                    "import a new version of that base."
                ),
            ),
        )


class BaseVersion(SetVersion):
    """The content of one import into a base. It never changes: a trigger refuses it."""

    address = "knowledge:version"
    set_field = "base"

    base = models.ForeignKey(KnowledgeBase, on_delete=models.CASCADE, related_name="versions")
    content_hash = models.CharField(max_length=64, help_text=_("SHA-256 of its content as JSON."))
    configurations = models.CharField(max_length=4, help_text=_("For which there are enough facts: ABCD"))
    budgets = models.JSONField(
        default=dict, blank=True, help_text=_("By topic, how many entities it should have.")
    )
    entity_count = models.PositiveIntegerField()
    article_count = models.PositiveIntegerField()

    class Meta(SetVersion.Meta):
        ordering = ("base", "-number")
        constraints = (
            models.UniqueConstraint(fields=("base", "number"), name="base_version_once"),
            models.UniqueConstraint(fields=("base", "content_hash"), name="base_content_once"),
            models.CheckConstraint(name="base_version_has_entities", condition=Q(entity_count__gte=1)),
        )


class Entity(models.Model):
    """A person or thing that people can talk about."""

    # Without an own index: that of entity_once_per_number begins with the version. Likewise for articles.
    version = models.ForeignKey(
        BaseVersion, on_delete=models.CASCADE, related_name="entities", db_index=False
    )
    number = models.PositiveIntegerField(help_text=_("Place in the base, from 1."))
    name = models.CharField(max_length=120)
    topic = models.CharField(max_length=60)
    aliases = ArrayField(models.CharField(max_length=120), default=list, blank=True)
    shortened = models.TextField(help_text=_("The first paragraph or two of its lead."))
    summarized = models.TextField(help_text=_("An extract of the whole lead."))
    facts = ArrayField(models.TextField(), help_text=_("Things worth telling, one sentence or two each."))

    class Meta:
        ordering = ("version", "number")
        verbose_name_plural = _("entities")
        constraints = (
            models.UniqueConstraint(fields=("version", "number"), name="entity_once_per_number"),
            models.UniqueConstraint(fields=("version", "name"), name="entity_once_per_name"),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def known(self) -> KnownEntity:
        return KnownEntity(self.name, self.shortened, self.summarized, tuple(self.facts))


class Article(models.Model):
    """An article in four sections, about entities of its base."""

    version = models.ForeignKey(
        BaseVersion, on_delete=models.CASCADE, related_name="articles", db_index=False
    )
    number = models.PositiveIntegerField(help_text=_("Place in the base, from 1."))
    key = models.CharField(max_length=500, help_text=_("Its address, or another name that stays the same."))
    headline = models.CharField(max_length=300)
    sections = ArrayField(models.TextField(), help_text=_("Its text in four parts of similar length."))
    named = ArrayField(
        models.PositiveIntegerField(),
        help_text=_("Numbers of the three entities that it names most, in that order."),
    )

    class Meta:
        ordering = ("version", "number")
        constraints = (
            models.UniqueConstraint(fields=("version", "number"), name="article_once_per_number"),
            models.UniqueConstraint(fields=("version", "key"), name="article_once_per_key"),
            models.CheckConstraint(
                name="article_can_be_read_together",
                condition=Q(sections__len=ARTICLE_SECTIONS, named__len=ENTITIES),
            ),
        )

    def __str__(self) -> str:
        return self.headline

    def to_read(self) -> ReadableArticle:
        """The article with the knowledge about its three entities."""
        found = {e.number: e for e in Entity.objects.filter(version=self.version_id, number__in=self.named)}
        known = tuple(found[number].known for number in self.named)
        return ReadableArticle(self.headline, tuple(self.sections), known)
