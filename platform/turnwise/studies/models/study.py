"""Model of a study: its protocol and its texts."""

import secrets
from decimal import Decimal
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from turnwise.knowledge.models import BaseVersion
from turnwise.knowledge.reading_sets import LONGEST_PASTED, refuse_unreadable
from turnwise.studies.asks import About
from turnwise.studies.models.choices import (
    CONSTRAINTS,
    PrimaryAnalysis,
    ReEntry,
    Speaker,
    language_name,
    refuse_unknown_protocol,
)
from turnwise.studies.models.reply_settings import ReplySettings
from turnwise.studies.models.responsibility import Responsibility
from turnwise.studies.task_keys import first_key, refuse_unknown

if TYPE_CHECKING:
    from turnwise.studies.models.study_parts import Ask

# Unambiguous when read aloud or copied by hand: no 0/O, 1/I/L.
CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"


def entry_code() -> str:
    return "".join(secrets.choice(CODE_ALPHABET.lower()) for _ in range(10))


LONGEST_TAG, MOST_TAGS = 30, 10


class Study(Responsibility, ReplySettings):
    """A study: its protocol, its texts, its pay and its state."""

    class State(models.TextChoices):
        DRAFT = "draft", _("Draft")
        OPEN = "open", _("Open")
        PAUSED = "paused", _("Paused")
        CLOSED = "closed", _("Closed")

    code = models.CharField(max_length=20, unique=True, default=entry_code, editable=False)
    title = models.CharField(max_length=120, verbose_name=_("title"))
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="studies")
    task = models.CharField(
        max_length=20,
        default=first_key,
        validators=[refuse_unknown],
        help_text=_("Key of a task: studies/tasks.py."),
    )
    protocol = models.CharField(
        max_length=60,
        blank=True,
        default="",
        validators=[refuse_unknown_protocol],
        verbose_name=_("published protocol"),
        help_text=_(
            "The report names each departure from it, and shows its published scores beside those of the "
            "study."
        ),
    )
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT)
    created_at = models.DateTimeField(auto_now_add=True)

    opening_speaker = models.CharField(
        max_length=10, choices=Speaker, default=Speaker.BOT, verbose_name=_("who opens the conversation")
    )
    opening_text = models.CharField(
        max_length=500,
        default="Hi!",
        blank=True,
        verbose_name=_("opening text"),
        help_text=_(
            "Said by the opening speaker before the conversation; neither counted nor labelled. "
            "Empty with the worker opening: the worker's first message is an ordinary turn."
        ),
    )
    min_turns = models.PositiveSmallIntegerField(
        default=14,
        validators=[MinValueValidator(2), MaxValueValidator(500)],
        verbose_name=_("fewest turns"),
        help_text=_("The opening is not counted."),
    )
    max_turns = models.PositiveSmallIntegerField(
        default=28,
        validators=[MinValueValidator(2), MaxValueValidator(500)],
        verbose_name=_("most turns"),
        help_text=_("The opening is not counted."),
    )
    blind = models.BooleanField(
        default=True,
        verbose_name=_("hide the names of the bots"),
        help_text=_("Workers do not learn which bot they talk to."),
    )
    primary_analysis = models.CharField(
        max_length=20,
        choices=PrimaryAnalysis,
        default=PrimaryAnalysis.ALL,
        verbose_name=_("primary analysis"),
        help_text=_(
            "The report's numbers follow it; the other analysis is shown beside them. It is declared before "
            "the study opens and is then fixed."
        ),
    )
    exclusion_rules = models.TextField(
        max_length=2000,
        blank=True,
        verbose_name=_("rules of exclusion"),
        help_text=_(
            "By which rules workers are excluded, such as: all answers alike, or a median of less than 2 "
            "seconds per answer. Each exclusion names its reason, and excluded workers are still paid."
        ),
    )
    margin = models.FloatField(
        null=True,
        blank=True,
        validators=[MinValueValidator(0.001), MaxValueValidator(100)],
        verbose_name=_("margin of equivalence"),
        help_text=_(
            "The largest difference that does not matter to you, in points of the score with which the "
            "report begins, such as 5. The report then also tests whether systems are equivalent within it. "
            "It is declared before the study opens and is then fixed. Empty: none."
        ),
    )
    pilot_size = models.PositiveSmallIntegerField(
        default=0,
        validators=[MaxValueValidator(1000)],
        verbose_name=_("people of the pilot"),
        help_text=_(
            "After this many people nobody new is admitted until you have looked and go on. They are then "
            "excluded from the primary analysis. 0: no pilot."
        ),
    )
    pilot_over_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text=_("When it went on from its pilot.")
    )
    markdown = models.BooleanField(
        default=False,
        verbose_name=_("show Markdown in replies"),
        help_text=_(
            "Lists, code and emphasis in replies are shown formatted, not as the Markdown of the bot. "
            "Images are never loaded."
        ),
    )
    re_entry = models.CharField(
        max_length=10,
        choices=ReEntry,
        default=ReEntry.ONCE,
        verbose_name=_("how often a person takes part"),
        help_text=_(
            "People who have finished may take part again and are paid each time. In the results they count "
            "as one worker. Prolific and Mechanical Turk admit a person to each of their own studies only "
            "once, whatever is chosen here."
        ),
    )
    re_entry_most = models.PositiveSmallIntegerField(
        default=2,
        validators=[MinValueValidator(2), MaxValueValidator(100)],
        verbose_name=_("at most"),
        help_text=_("Times per person. Applies only with “Up to a number of times”."),
    )
    material = models.TextField(
        max_length=LONGEST_PASTED,
        blank=True,
        validators=[refuse_unreadable],
        verbose_name=_("texts"),
        help_text=_(
            "Texts that workers see beside their task. A line that begins with # names one; what follows is "
            "its text."
        ),
    )
    bots_read = models.BooleanField(
        default=False,
        verbose_name=_("let the bots read them, too"),
        help_text=_(
            "Bots that can use knowledge get the same texts, for instance in their prompt; others ignore "
            "them."
        ),
    )
    knowledge = models.ForeignKey(
        BaseVersion,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="studies",
        verbose_name=_("reading sets from a knowledge base"),
        help_text=_(
            "Each conversation is about one of its articles: those who talk get reading sets from it."
        ),
    )
    practice = models.BooleanField(
        default=True,
        verbose_name=_("practice before the work"),
        help_text=_(
            "Workers try the questions on their worked examples before they begin, and learn what the "
            "author would have answered. None of it is stored as a label."
        ),
    )
    languages = ArrayField(models.CharField(max_length=10), default=list, help_text=_("For example: en, zh"))
    instructions = models.TextField(max_length=8000, blank=True, verbose_name=_("instructions"))
    debriefing = models.TextField(
        max_length=8000,
        blank=True,
        verbose_name=_("debriefing"),
        help_text=_(
            "Workers read it on their last page, however they ended. It is the place for what they "
            "could not be told before, such as that a person answered as the chatbot."
        ),
    )
    pay_amount = models.DecimalField(
        max_digits=8,
        decimal_places=2,
        default=Decimal(0),
        validators=[MinValueValidator(Decimal(0))],
        verbose_name=_("pay"),
    )
    pay_currency = models.CharField(max_length=3, default="USD", verbose_name=_("currency"))
    hourly_target = models.DecimalField(
        max_digits=8,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal("0.01"))],
        verbose_name=_("pay for an hour, at least"),
        help_text=_("What an hour of this work should pay at least. Payments warns when it pays less."),
    )
    expected_minutes = models.PositiveSmallIntegerField(
        default=15, validators=[MinValueValidator(1)], verbose_name=_("expected time in minutes")
    )
    message_minutes = models.PositiveSmallIntegerField(
        default=0,
        validators=[MaxValueValidator(240)],
        verbose_name=_("minutes for each message"),
        help_text=_(
            "For each message, judgment or text, from the moment it is the worker's turn. 0: no limit."
        ),
    )
    session_minutes = models.PositiveSmallIntegerField(
        default=0,
        validators=[MaxValueValidator(1440)],
        verbose_name=_("minutes for the whole"),
        help_text=_(
            "From the beginning of the work to its end; waiting for a partner does not count. 0: no limit."
        ),
    )
    extensions = models.PositiveSmallIntegerField(
        default=10,
        validators=[MaxValueValidator(100)],
        verbose_name=_("extensions"),
        help_text=_(
            "How often a worker can ask for the same time again. Fewer than ten shut out people who need "
            "longer (WCAG 2.2.1)."
        ),
    )
    notes_typing = models.BooleanField(
        default=False,
        verbose_name=_("note pasting and time of typing"),
        help_text=_(
            "Of each message in a chat: how many characters were pasted, and how long it was typed; never "
            "which keys. Workers read this before they agree."
        ),
    )
    withdrawal_days = models.PositiveSmallIntegerField(
        default=30,
        validators=[MaxValueValidator(3650)],
        verbose_name=_("days to withdraw"),
        help_text=_(
            "How long after the end of their part people can have their texts and answers removed. They are "
            "told before they agree; later it can be made longer, not shorter."
        ),
    )
    retention_days = models.PositiveSmallIntegerField(
        default=180,
        validators=[MinValueValidator(1), MaxValueValidator(3650)],
        verbose_name=_("days until ids are erased"),
        help_text=_(
            "How long after the end of somebody's part their panel id, and everything else by which they "
            "could be found again, are erased, once they are paid. Later it can be made shorter, not longer."
        ),
    )
    closed_to_workers_of = models.ManyToManyField(
        "self",
        symmetrical=False,
        blank=True,
        related_name="closes",
        help_text=_("People who took part in one of these studies cannot take part in this one."),
    )

    rehearsal_of = models.OneToOneField(
        "self",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        editable=False,
        related_name="rehearsal",
        help_text=_("The study that simulated workers try out here. Never counted with studies of people."),
    )
    tags = ArrayField(
        models.CharField(max_length=LONGEST_TAG),
        default=list,
        blank=True,
        size=MOST_TAGS,
        help_text=_("Words to filter lists by, such as: pilot, 2026."),
    )
    archived_at = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text=_("Since when it is left out of lists."),
    )
    previewed_at = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text=_("When somebody first looked at the pages of its workers."),
    )
    results_version = models.PositiveBigIntegerField(
        default=0, editable=False, help_text=_("Grows with every commit that changes the report.")
    )

    class Meta:
        ordering = ("-created_at",)
        verbose_name_plural = _("studies")
        constraints = CONSTRAINTS

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("workspace:overview", args=[self.pk])

    def get_entry_url(self) -> str:
        return reverse("crowd:enter", args=[self.code])

    @cached_property
    def every_ask(self) -> list["Ask"]:
        """All asks, read once; empty for an unsaved study."""
        return list(self.asks.all()) if self.pk else []

    @property
    def work_asks(self) -> list["Ask"]:
        """Asks about turns, responses or other work, in order; those about people are `questionnaires`."""
        return [ask for ask in self.every_ask if ask.about != About.PERSON]

    @property
    def questionnaires(self) -> list["Ask"]:
        """Asks about the people themselves, in order."""
        return [ask for ask in self.every_ask if ask.about == About.PERSON]

    @property
    def question_set(self) -> str:
        """Key of the question set with which the report begins; empty without asks."""
        return self.work_asks[0].question_set if self.work_asks else ""

    @property
    def question_set_title(self) -> str:
        """Title of that question set."""
        return self.work_asks[0].title if self.work_asks else ""

    @property
    def pay(self) -> str:
        return f"{self.pay_amount} {self.pay_currency}" if self.pay_amount else ""

    @property
    def only_language(self) -> str:
        """The only language of the study; empty if there are several."""
        return self.languages[0] if len(self.languages) == 1 else ""

    @property
    def language_names(self) -> str:
        return ", ".join(language_name(code) for code in self.languages)
