"""Parts of a study: asks, bots, consent versions, and bundles, which are kept for a day."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Deferrable, Q
from django.utils.translation import gettext_lazy as _

from turnwise.bots.models import Bot
from turnwise.questions.question_sets import question_set, refuse_unknown_set, titled
from turnwise.studies.asks import MOST_ASKS, OF_PEOPLE, About, AskSpec, By, Moment


class Ask(models.Model):
    """An ask of a study: which question set, of whom, about what and when."""

    study = models.ForeignKey("studies.Study", on_delete=models.CASCADE, related_name="asks", db_index=False)
    number = models.PositiveSmallIntegerField(help_text=_("From 0; the report begins with the first."))
    question_set = models.CharField(max_length=60, validators=[refuse_unknown_set])
    about = models.CharField(max_length=20, choices=About)
    by = models.CharField(max_length=10, choices=By)
    moment = models.CharField(max_length=20, choices=Moment, blank=True, help_text=_("Empty: of readers."))
    required = models.BooleanField(
        default=True,
        help_text=_("Without the answers a conversation cannot be finished, or a person cannot go on."),
    )

    class Meta:
        ordering = ("study", "number")
        constraints = (
            # Checked after each statement, so that one statement can reorder asks.
            models.UniqueConstraint(
                fields=("study", "number"), name="ask_once_per_number", deferrable=Deferrable.IMMEDIATE
            ),
            models.UniqueConstraint(
                fields=("study", "question_set", "about"),
                name="ask_once_about_the_same",
                deferrable=Deferrable.IMMEDIATE,
            ),
            # Target of items' foreign key, so that an item belongs to an ask of its own study.
            models.UniqueConstraint(fields=("id", "study"), name="ask_of_its_study"),
            # Target of labels' foreign key: an ask of the same study with the same question set.
            models.UniqueConstraint(fields=("id", "study", "question_set"), name="ask_with_its_questions"),
            models.CheckConstraint(name="ask_has_a_number", condition=Q(number__lt=MOST_ASKS)),
            models.CheckConstraint(
                name="ask_of_talkers_has_a_moment",
                condition=(Q(by=By.TALKERS) & ~Q(moment="") & ~Q(moment__in=OF_PEOPLE))
                | Q(by=By.READERS, moment="")
                | Q(by=By.EVERYBODY, moment__in=OF_PEOPLE),
            ),
            models.CheckConstraint(
                name="ask_of_everybody_is_about_the_person",
                condition=Q(by=By.EVERYBODY, about=About.PERSON)
                | ~(Q(by=By.EVERYBODY) | Q(about=About.PERSON)),
            ),
            models.CheckConstraint(
                name="ask_about_the_whole_is_asked_at_its_end",
                condition=~Q(by=By.TALKERS, about=About.DIALOGUE) | Q(moment=Moment.AT_END),
            ),
        )

    def __str__(self) -> str:
        return self.declared.sentence(self.title)

    @property
    def title(self) -> str:
        """Title of its question set."""
        return titled(question_set(self.question_set))

    @property
    def declared(self) -> AskSpec:
        """The ask without its study."""
        moment = Moment(self.moment) if self.moment else None
        return AskSpec(self.question_set, About(self.about), moment, self.required)


# Highest target of conversations with one bot.
MOST_WANTED = 100_000


class StudyBot(models.Model):
    """A bot of a study with its target of finished conversations."""

    study = models.ForeignKey("studies.Study", on_delete=models.CASCADE, related_name="study_bots")
    bot = models.ForeignKey(Bot, on_delete=models.PROTECT, related_name="study_bots")
    target = models.PositiveIntegerField(default=100, help_text=_("0: no further workers for this bot."))
    facets = models.JSONField(
        default=dict,
        blank=True,
        help_text=_("What the bot is, for the report: by facet, such as architecture, its level."),
    )

    class Meta:
        ordering = ("study", "bot__name")
        constraints = (models.UniqueConstraint(fields=("study", "bot"), name="bot_once_per_study"),)

    def __str__(self) -> str:
        return f"{self.bot} in {self.study}"


class ConsentVersion(models.Model):
    """A version of a consent text. A changed text becomes a new version; old ones stay."""

    study = models.ForeignKey("studies.Study", on_delete=models.CASCADE, related_name="consent_versions")
    number = models.PositiveIntegerField()
    text = models.TextField(max_length=20_000)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("study", "number")
        constraints = (models.UniqueConstraint(fields=("study", "number"), name="consent_version_once"),)

    def __str__(self) -> str:
        return f"Consent {self.number} of {self.study}"


class Bundle(models.Model):
    """A requested archive of a study, made by `turnwise.exports.bundle_jobs`.

    It lies in the database, which all processes share wherever they run, and in which what somebody takes
    back is gone from here at the same moment (`turnwise.studies.bundles.forget`).
    """

    study = models.ForeignKey("studies.Study", on_delete=models.CASCADE, related_name="bundles")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    asked_at = models.DateTimeField()
    begun_at = models.DateTimeField(null=True, blank=True)
    made_at = models.DateTimeField(null=True, blank=True)
    reason = models.TextField(blank=True, help_text=_("Why it could not be made."))
    size = models.PositiveBigIntegerField(default=0, help_text=_("In bytes, once it is made."))
    results_version = models.PositiveBigIntegerField(
        default=0, help_text=_("The study's results_version that it covers, once it is made.")
    )
    judgments = models.PositiveIntegerField(
        default=0, help_text=_("Items judged, of a judging study, when its labels were read.")
    )

    quotes = ArrayField(
        models.BigIntegerField(),
        default=list,
        blank=True,
        help_text=_("Keys of the studies of which it has texts or answers, its own among them."),
    )

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.UniqueConstraint(
                fields=("study",),
                condition=Q(made_at=None, reason=""),
                name="one_bundle_at_work_per_study",
            ),
            models.CheckConstraint(name="bundle_made_or_failed", condition=Q(made_at=None) | Q(reason="")),
        )

    def __str__(self) -> str:
        return f"Bundle of {self.study}"

    @property
    def is_in_progress(self) -> bool:
        return self.made_at is None and not self.reason


class LastExport(models.Model):
    """Version of the results that was exported last, kept after the bundle is deleted."""

    study = models.OneToOneField("studies.Study", on_delete=models.CASCADE, related_name="last_export")
    at = models.DateTimeField()
    results_version = models.PositiveBigIntegerField(help_text=_("The study's, when they were read."))
    judgments = models.PositiveIntegerField(help_text=_("Items judged until then, of a judging study."))

    def __str__(self) -> str:
        return f"Last export of {self.study}"


class BundlePart(models.Model):
    """A chunk of a bundle, so that no process holds all of it in memory."""

    bundle = models.ForeignKey(Bundle, on_delete=models.CASCADE, related_name="parts", db_index=False)
    number = models.PositiveIntegerField()
    content = models.BinaryField()

    class Meta:
        ordering = ("number",)
        constraints = (models.UniqueConstraint(fields=("bundle", "number"), name="bundle_part_once"),)

    def __str__(self) -> str:
        return f"Part {self.number} of {self.bundle_id}"
