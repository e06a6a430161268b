"""What those who talk have to read."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.dialogues.models.conversations import Dialogue, Seat
from turnwise.knowledge.models import Article
from turnwise.knowledge.sections import LONGEST_TITLE
from turnwise.studies.models import Study


class Material(models.Model):
    """A text that one of the two has beside the conversation. Never changed: the database refuses it."""

    # No index of its own: that of material_once_per_number begins with the seat.
    seat = models.ForeignKey(Seat, on_delete=models.CASCADE, related_name="materials", db_index=False)
    number = models.PositiveSmallIntegerField(help_text=_("Its place among what the seat reads, from 1."))
    key = models.CharField(max_length=20, help_text=_("Short name in files: FS1"))
    title = models.CharField(max_length=LONGEST_TITLE, help_text=_("What the reader knows it by."))
    heading = models.CharField(max_length=300, blank=True, help_text=_("What it is about."))
    text = models.TextField(blank=True)
    points = ArrayField(
        models.TextField(), default=list, blank=True, help_text=_("Single facts after the text.")
    )
    variant = models.CharField(
        max_length=20,
        blank=True,
        help_text=_("Which version of a text that has several: shortened, summarized."),
    )

    class Meta:
        ordering = ("seat", "number")
        constraints = (
            models.UniqueConstraint(fields=("seat", "number"), name="material_once_per_number"),
            models.UniqueConstraint(fields=("seat", "key"), name="material_once_per_key"),
            models.CheckConstraint(name="material_says_something", condition=~Q(text="", points=[])),
        )

    def __str__(self) -> str:
        return f"{self.title}: {self.heading}" if self.heading else self.title


MOST_USES = 4
"""Conversations of a study about the same article, as in the paper."""


class ArticleUse(models.Model):
    """How many conversations of a study have an article, but for those that do not count."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="article_uses", db_index=False)
    article = models.ForeignKey(Article, on_delete=models.PROTECT, related_name="+")
    uses = models.PositiveSmallIntegerField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("study", "article"), name="article_use_once_per_study"),
            models.CheckConstraint(name="article_is_not_overused", condition=Q(uses__lte=MOST_USES)),
        )

    def __str__(self) -> str:
        return f"{self.article}: {self.uses} of {MOST_USES}"


class ReadingSet(models.Model):
    """From which article, in which configuration, by which seed the two were given what they read."""

    dialogue = models.OneToOneField(Dialogue, on_delete=models.CASCADE, related_name="reading_set")
    article = models.ForeignKey(Article, on_delete=models.PROTECT, related_name="+")
    configuration = models.CharField(max_length=1)
    seed = models.BigIntegerField()
    counts = models.BooleanField(default=True, help_text=_("Whether it is one of those of its article."))

    def __str__(self) -> str:
        return f"{self.configuration}: {self.article}"
