import uuid

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.contexts.models import Context
from turnwise.crowd.models import Assignment, Worker
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.judging.models.anchors import Anchor
from turnwise.labels.models import JUDGED, ONE_JUDGED, Label, Pair
from turnwise.responses.models import Response
from turnwise.studies.models import Ask, Study

_READING_IS_FIXED = "The study has been opened, so what its judges read is fixed. Make a new study."


class JudgingPlan(models.Model):
    """The plan of a judging study: raters for each item, and items for each worker."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="judging")
    raters_per_item = models.PositiveSmallIntegerField(
        default=5,
        validators=[MinValueValidator(1), MaxValueValidator(25)],
        verbose_name=_("raters per item"),
        help_text=_("How many different workers judge each item: 5 in the paper."),
    )
    batch_size = models.PositiveSmallIntegerField(
        default=50,
        validators=[MinValueValidator(1), MaxValueValidator(500)],
        verbose_name=_("items per worker"),
        help_text=_("After this many the worker is done and gets the completion code."),
    )
    lease_seconds = models.PositiveIntegerField(
        default=600,
        validators=[MinValueValidator(30), MaxValueValidator(86_400)],
        verbose_name=_("seconds for an item"),
        help_text=_("A worker who is inactive for this long loses their current item to another worker."),
    )
    third_rater = models.BooleanField(
        default=False,
        verbose_name=_("one more if they differ"),
        help_text=_(
            "If workers answer a question about an item differently, one more judges it. Free text is not "
            "compared."
        ),
    )
    shows_reading = models.BooleanField(
        default=False,
        verbose_name=_("show readers what the chatters read"),
        help_text=_(
            "Where those who talked had texts beside the conversation, or a context has sentences to read, "
            "its judges have them, too. It is fixed once the study has been opened."
        ),
    )
    training_tries = models.PositiveSmallIntegerField(
        default=0,
        validators=[MaxValueValidator(20)],
        verbose_name=_("attempts at the training questions"),
        help_text=_(
            "Before they begin, workers must answer all training questions of the set correctly, in this "
            "many attempts. 0: no training."
        ),
    )
    gold_items = models.PositiveSmallIntegerField(
        default=0,
        validators=[MaxValueValidator(50)],
        verbose_name=_("gold items per worker"),
        help_text=_(
            "Items with a known answer that every worker also judges, at random points. They count in no "
            "score."
        ),
    )

    adjudication_steps = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        verbose_name=_("steps of a scale by which raters differ"),
        help_text=_(
            "An adjudicator decides items on which raters differ: any other answer, or on a scale this many "
            "steps between the lowest and the highest. Empty: no adjudication."
        ),
    )
    judges_each_exchange = models.BooleanField(
        default=False,
        verbose_name=_("vote after each message"),
        help_text=_(
            "People vote each time both bots have replied, then go on with the same two or begin anew. "
            "Otherwise they vote once, when they have talked enough."
        ),
    )
    of_transcripts = models.BooleanField(
        default=False,
        help_text=_("Whether its way begins with a file of conversations, which is imported into it."),
    )
    draws = models.JSONField(
        default=list,
        blank=True,
        help_text=_("What was drawn at random into the queue: how many of how many, and by which seed."),
    )

    def __str__(self) -> str:
        return f"{self.raters_per_item} raters per item of {self.study_id}"

    def clean(self) -> None:
        """Refuse to change what raters read once the study was opened: all of them must read the same."""
        if self.pk is None or self.study.state == Study.State.DRAFT:
            return
        shown = JudgingPlan.objects.values_list("shows_reading", flat=True).get(pk=self.pk)
        if shown != self.shows_reading:
            raise ValidationError({"shows_reading": _READING_IS_FIXED})


class Training(models.Model):
    """A worker's attempts at the training questions of a study. They stay after a re-entry."""

    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="trainings")
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="trainings")
    tries = models.PositiveSmallIntegerField(default=0)
    passed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("worker", "study"), name="training_once_per_worker"),)

    def __str__(self) -> str:
        return f"{self.tries} tries of {self.worker_id}"


class Battery(models.Model):
    """A fixed composition of items that every worker of a study judges, instead of items of the queue.

    It has one item of each target, some fillers, and some of these a second time, in random order. The whole
    composition is judged for each ask of the study, one after the other. `targets` and `fillers_of` are names
    of
    systems as in the queue.
    """

    plan = models.OneToOneField(JudgingPlan, on_delete=models.CASCADE, related_name="battery")
    targets = ArrayField(models.CharField(max_length=200), help_text=_("One item of each in every battery."))
    fillers_of = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    fillers = models.PositiveSmallIntegerField(
        default=0,
        validators=[MaxValueValidator(200)],
        help_text=_("Items of these systems in every battery, all of them different."),
    )
    repeats = models.PositiveSmallIntegerField(
        default=0, validators=[MaxValueValidator(50)], help_text=_("Fillers that come a second time.")
    )
    reasons_at = ArrayField(
        models.PositiveSmallIntegerField(validators=[MinValueValidator(1)]),
        default=list,
        blank=True,
        help_text=_(
            "Positions, from 1, at which workers answer the free-text questions, too. For example: 5, 15"
        ),
    )
    workers = models.PositiveSmallIntegerField(
        default=100,
        validators=[MinValueValidator(1), MaxValueValidator(5000)],
        help_text=_("In each language."),
    )
    compared_with = models.CharField(
        max_length=200, blank=True, help_text=_("The target that the report compares the others with.")
    )
    seed = models.PositiveIntegerField(
        default=1, help_text=_("A different number draws different batteries.")
    )

    # The rules propose whom to exclude; a person decides. Empty: the rule is not declared.
    repeat_points = models.PositiveSmallIntegerField(null=True, blank=True)
    repeat_questions = models.PositiveSmallIntegerField(default=1, validators=[MinValueValidator(1)])
    least_spread = models.FloatField(null=True, blank=True, validators=[MinValueValidator(0)])
    least_seconds = models.FloatField(null=True, blank=True, validators=[MinValueValidator(0)])
    filler_question = models.CharField(max_length=60, blank=True)
    filler_least = models.FloatField(null=True, blank=True)
    filler_misses = models.PositiveSmallIntegerField(default=0)

    class Meta:
        verbose_name_plural = _("batteries")

    def __str__(self) -> str:
        return f"{self.size} items for each worker of {self.plan.study_id}"

    @property
    def of_each_ask(self) -> int:
        """Items that a worker judges for each ask."""
        return len(self.targets) + self.fillers + self.repeats

    @property
    def size(self) -> int:
        """Items that a worker judges in all."""
        return self.of_each_ask * len(self.plan.study.work_asks)


class Item(models.Model):
    """One thing to judge with the questions of one ask, by as many workers as it has slots.

    Something that several asks are about has an item for each ask.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="items")
    # A foreign key of two columns, in the migration, holds it to an ask of its study. Asks are deleted with
    # their study, or while it is a draft, so it needs no index of its own.
    ask = models.ForeignKey(
        Ask, on_delete=models.CASCADE, related_name="items", db_constraint=False, db_index=False
    )
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, null=True, blank=True, related_name="items")
    response = models.ForeignKey(
        Response, on_delete=models.CASCADE, null=True, blank=True, related_name="items"
    )
    dialogue = models.ForeignKey(
        Dialogue, on_delete=models.CASCADE, null=True, blank=True, related_name="items"
    )
    pair = models.ForeignKey(Pair, on_delete=models.CASCADE, null=True, blank=True, related_name="items")
    context = models.ForeignKey(
        Context, on_delete=models.PROTECT, null=True, blank=True, related_name="items"
    )
    key = models.UUIDField(
        unique=True,
        editable=False,
        help_text=_(
            "The order in which items are judged, and their name on the page. It is random behind its first "
            "byte, the number of its ask, so neither tells which system an item is from."
        ),
    )
    language = models.CharField(max_length=10)
    right_answers = models.JSONField(
        null=True,
        blank=True,
        help_text=_(
            "By question, the answers that are right: a gold item, which counts in no score. "
            "Empty: the item is judged like most."
        ),
    )
    is_instructed = models.BooleanField(
        db_default=False, help_text=_("Whether a gold item itself says what to answer: an attention check.")
    )
    removed_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text=_("When it was taken out of the queue. The judgments that it has stay, and count."),
    )
    anchor = models.ForeignKey(
        Anchor,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="items",
        db_index=False,
        help_text=_("Its known values, which link the study with an earlier one. It counts in no score."),
    )

    class Meta:
        indexes = (
            models.Index(fields=("study",), condition=Q(removed_at__isnull=False), name="item_removed"),
            models.Index(fields=("anchor",), condition=Q(anchor__isnull=False), name="item_is_anchor"),
        )
        constraints = (
            models.CheckConstraint(
                name="item_gold_is_not_removed",
                condition=Q(right_answers__isnull=True) | Q(removed_at__isnull=True),
            ),
            models.CheckConstraint(
                name="item_anchor_is_no_gold",
                condition=Q(anchor__isnull=True) | Q(right_answers__isnull=True, removed_at__isnull=True),
            ),
            models.CheckConstraint(name="item_has_one_subject", condition=ONE_JUDGED),
            *(
                models.UniqueConstraint(fields=("study", "ask", subject), name=f"item_once_per_{subject}")
                for subject in JUDGED
            ),
            models.CheckConstraint(
                name="item_gold_has_answers",
                condition=Q(right_answers__isnull=True, is_instructed=False)
                | Q(right_answers__isnull=False) & ~Q(right_answers={}),
            ),
        )

    def __str__(self) -> str:
        return str(self.key)


class Batch(models.Model):
    """The items of one worker in a judging study; their number is the plan's when the worker began."""

    assignment = models.OneToOneField(Assignment, on_delete=models.CASCADE, related_name="batch")
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="batches")
    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="batches")
    public_id = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    language = models.CharField(max_length=10)
    size = models.PositiveSmallIntegerField()
    done = models.PositiveSmallIntegerField(default=0, help_text=_("Items judged."))
    cursor = models.UUIDField(
        default=uuid.UUID(int=0), help_text=_("Key of the item leased last; the next is looked for after it.")
    )
    gold_at = ArrayField(
        models.PositiveSmallIntegerField(),
        default=list,
        blank=True,
        help_text=_("Positions, from 1, at which it gets a gold item."),
    )

    class Meta:
        verbose_name_plural = _("batches")
        constraints = (
            models.CheckConstraint(name="batch_within_size", condition=Q(done__lte=models.F("size"))),
        )

    def __str__(self) -> str:
        return f"{self.done} of {self.size} by {self.worker_id}"


class Slot(models.Model):
    """One required judgment of an item: free, leased to a batch, or filled by a label.

    An item has one row for each wanted rater, so that no race can give it too many or too few labels.
    `study`,
    `key` and `language` repeat the item's, for the index that finds the next free slot.

    In a study with batteries each slot is a card of a deck, and a worker gets a whole deck. There every slot
    has
    its own `key`, since the same item may come twice and its name must not reveal that.
    """

    # No index of its own: those of the unique constraints begin with the item.
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="slots", db_index=False)
    number = models.PositiveSmallIntegerField(help_text=_("From 1."))
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+", db_index=False)
    key = models.UUIDField()
    language = models.CharField(max_length=10)
    is_swapped = models.BooleanField(
        default=False, help_text=_("Of a pair: whether the rater sees its second side first here.")
    )
    deck = models.PositiveIntegerField(null=True, blank=True, help_text=_("Number of the battery, from 1."))
    position = models.PositiveSmallIntegerField(null=True, blank=True, help_text=_("In the deck, from 1."))
    occasion = models.PositiveSmallIntegerField(
        default=1, help_text=_("2 if the rater of this slot judges the item for the second time.")
    )
    asks_reason = models.BooleanField(
        default=False, help_text=_("Of a deck: whether the free-text questions are asked here.")
    )
    is_gold = models.BooleanField(
        db_default=False, help_text=_("Of a gold item: made for the batch, and never anybody else's.")
    )
    batch = models.ForeignKey(
        Batch, on_delete=models.SET_NULL, null=True, blank=True, related_name="slots", db_index=False
    )
    leased_until = models.DateTimeField(null=True, blank=True)
    label = models.OneToOneField(Label, on_delete=models.SET_NULL, null=True, blank=True, related_name="slot")

    class Meta:
        indexes = (
            models.Index(fields=("study", "language", "key"), condition=Q(label=None), name="slot_open"),
            # Finds the few slots of a batch without reading all open ones.
            models.Index(fields=("batch",), condition=Q(label=None, batch__isnull=False), name="slot_held"),
            models.Index(fields=("label",), condition=Q(is_gold=True), name="slot_of_gold"),
            # Counts the judgments of a study. Statements that look for open slots cannot use it.
            models.Index(
                fields=("study", "batch"), condition=Q(label__isnull=False, is_gold=False), name="slot_judged"
            ),
        )
        constraints = (
            models.UniqueConstraint(fields=("item", "number"), name="slot_once_per_number"),
            models.UniqueConstraint(fields=("batch", "key"), name="slot_once_per_batch"),
            models.UniqueConstraint(
                fields=("study", "deck", "position"),
                condition=Q(deck__isnull=False),
                name="slot_once_per_position",
            ),
            models.CheckConstraint(
                name="slot_of_a_deck_has_a_position",
                condition=Q(deck=None, position=None) | Q(position__gte=1),
            ),
            models.CheckConstraint(name="slot_occasions_count_from_1", condition=Q(occasion__gte=1)),
        )

    def __str__(self) -> str:
        return f"{self.number} of {self.item_id}"
