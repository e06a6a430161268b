"""Anchor packs: items whose value an earlier study knows, for other studies to judge again."""

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.contexts.models import Context
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.labels.models import JUDGED
from turnwise.live.sql import one_of
from turnwise.responses.models import Response
from turnwise.studies.models import Study

ANCHORED = tuple(subject for subject in JUDGED if subject != "pair")
"""Subjects of anchors. Answers about a pair are no value of one thing."""


class AnchorPack(models.Model):
    """A version of an anchor pack; it never changes.

    Values are stored in the unit of `evaluation.questions.score_values`: shares in [0, 1], or points. The
    texts are not copied: an anchor points to the row that was judged, so a withdrawal removes it here, too.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="anchor_packs")
    title = models.CharField(max_length=120, verbose_name=_("name"))
    number = models.PositiveSmallIntegerField(help_text=_("Of the version, from 1."))
    question_set = models.CharField(
        max_length=60, help_text=_("Key of the question set by which the values are known.")
    )
    spread_by = models.CharField(
        max_length=60,
        blank=True,
        help_text=_("Score over whose range the anchors are spread; empty: a file."),
    )
    source = models.ForeignKey(
        Study, on_delete=models.SET_NULL, null=True, blank=True, related_name="anchor_packs"
    )
    origin = models.CharField(
        max_length=300, help_text=_("Where the values are from, in words: a study, or a file.")
    )
    common_variance = models.JSONField(
        help_text=_("By score, variance of the mean over all anchors that their raters have in common.")
    )
    sha256 = models.CharField(max_length=64, help_text=_("Of the texts and the known values."))
    made_at = models.DateTimeField()

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.UniqueConstraint(fields=("owner", "title", "number"), name="anchor_pack_once_per_version"),
        )

    def __str__(self) -> str:
        return f"{self.title}, version {self.number}"


class Anchor(models.Model):
    """An item of a pack with its known values; it never changes."""

    pack = models.ForeignKey(AnchorPack, on_delete=models.CASCADE, related_name="anchors", db_index=False)
    number = models.PositiveSmallIntegerField(validators=[MinValueValidator(1)], help_text=_("From 1."))
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, null=True, blank=True, related_name="anchors")
    response = models.ForeignKey(
        Response, on_delete=models.CASCADE, null=True, blank=True, related_name="anchors"
    )
    dialogue = models.ForeignKey(
        Dialogue, on_delete=models.CASCADE, null=True, blank=True, related_name="anchors"
    )
    context = models.ForeignKey(
        Context, on_delete=models.PROTECT, null=True, blank=True, related_name="anchors"
    )
    language = models.CharField(max_length=10)
    system = models.CharField(max_length=500, help_text=_("Name of its system in the earlier study."))
    known = models.JSONField(
        help_text=_("By score: value, error (its standard error) and raters (their number).")
    )

    class Meta:
        ordering = ("pack", "number")
        constraints = (
            models.UniqueConstraint(fields=("pack", "number"), name="anchor_once_per_number"),
            models.CheckConstraint(name="anchor_has_one_subject", condition=one_of(*ANCHORED)),
            models.CheckConstraint(name="anchor_has_values", condition=~Q(known={})),
        )

    def __str__(self) -> str:
        return f"{self.number} of {self.pack}"
