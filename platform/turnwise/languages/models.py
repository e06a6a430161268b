"""Tables of languages that are translated in the product. Translations are only ever added."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from turnwise.live.rendering.replaced_texts import number_of_forms

LONGEST_CODE = 10
"""As long as a code of a study's languages."""


class Language(models.Model):
    """A language whose worker-facing texts are translated in the product."""

    code = models.CharField(
        max_length=LONGEST_CODE, unique=True, help_text=_("BCP 47, for example: sw, es-MX")
    )
    name = models.CharField(max_length=60, help_text=_("In English."))
    local_name = models.CharField(
        max_length=60, help_text=_("In the language itself, as workers choose it. For example: Kiswahili")
    )
    right_to_left = models.BooleanField(_("written from right to left"), default=False)
    plural_forms = models.CharField(
        max_length=300, editable=False, help_text=_("The plural rule, as catalogs of gettext have it.")
    )
    active = models.BooleanField(
        _("in use"), default=True, help_text=_("Otherwise workers read what comes with Turnwise, or English.")
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    editors = models.ManyToManyField(
        settings.AUTH_USER_MODEL, blank=True, related_name="+", help_text=_("Translators of the language.")
    )

    class Meta:
        ordering = ("name", "code")

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """Page with the table of its texts."""
        return reverse("languages:language", args=[self.pk])

    @property
    def catalog(self) -> str:
        """The code as Django writes it."""
        return str(self.code).lower()

    @property
    def number_of_forms(self) -> int:
        """Number of its plural forms."""
        return number_of_forms(self.plural_forms)


class Revision(models.Model):
    """One saved change of a language: by whom, when, and how many texts."""

    class Origin(models.TextChoices):
        MADE = "made", _("The language is added")
        SETTINGS = "settings", _("Its settings are changed")
        TABLE = "table", _("Saved in the table")
        FILE = "file", _("Uploaded as a file")

    language = models.ForeignKey(Language, on_delete=models.CASCADE, related_name="revisions")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    origin = models.CharField(max_length=10, choices=Origin)
    changed = models.PositiveIntegerField(default=0, help_text=_("How many texts it changed."))
    saved_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"{self.language_id} {self.pk}"


class Translation(models.Model):
    """Translation of a text as of a revision; the newest one counts."""

    revision = models.ForeignKey(Revision, on_delete=models.CASCADE, related_name="translations")
    key = models.CharField(
        max_length=32, help_text=_("Hash of the English text, its plural and its context.")
    )
    english = models.TextField()
    forms = ArrayField(
        models.TextField(),
        help_text=_("Its plural forms, or the only one. Empty: the translation is withdrawn."),
    )

    class Meta:
        ordering = ("-revision_id", "pk")
        constraints = (models.UniqueConstraint(fields=("key", "revision"), name="translation_once"),)

    def __str__(self) -> str:
        return self.key
