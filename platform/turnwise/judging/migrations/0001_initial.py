import uuid

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.lookups
from django.db import migrations, models

from turnwise.live.sql import LoadSQL


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("contexts", "0001_initial"),
        ("crowd", "0001_initial"),
        ("dialogues", "0001_initial"),
        ("labels", "0001_initial"),
        ("responses", "0001_initial"),
        ("studies", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Batch",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("language", models.CharField(max_length=10)),
                ("size", models.PositiveSmallIntegerField()),
                ("done", models.PositiveSmallIntegerField(default=0, help_text="Items judged.")),
                (
                    "cursor",
                    models.UUIDField(
                        default=uuid.UUID("00000000-0000-0000-0000-000000000000"),
                        help_text="Key of the item leased last; the next is looked for after it.",
                    ),
                ),
                (
                    "gold_at",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.PositiveSmallIntegerField(),
                        blank=True,
                        default=list,
                        help_text="Positions, from 1, at which it gets a gold item.",
                        size=None,
                    ),
                ),
                (
                    "assignment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="batch",
                        to="crowd.assignment",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="batches",
                        to="studies.study",
                    ),
                ),
                (
                    "worker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="batches", to="crowd.worker"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "batches",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("done__lte", models.F("size"))), name="batch_within_size"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Item",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "key",
                    models.UUIDField(
                        editable=False,
                        help_text="The order in which items are judged, and their name on the page. It is random behind its first byte, the number of its ask, so neither tells which system an item is from.",
                        unique=True,
                    ),
                ),
                ("language", models.CharField(max_length=10)),
                (
                    "right_answers",
                    models.JSONField(
                        blank=True,
                        help_text="By question, the answers that are right: a gold item, which counts in no score. Empty: the item is judged like most.",
                        null=True,
                    ),
                ),
                (
                    "is_instructed",
                    models.BooleanField(
                        db_default=False,
                        help_text="Whether a gold item itself says what to answer: an attention check.",
                    ),
                ),
                (
                    "removed_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When it was taken out of the queue. The judgments that it has stay, and count.",
                        null=True,
                    ),
                ),
                (
                    "ask",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="studies.ask",
                    ),
                ),
                (
                    "dialogue",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="dialogues.dialogue",
                    ),
                ),
                (
                    "context",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="items",
                        to="contexts.context",
                    ),
                ),
                (
                    "pair",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="labels.pair",
                    ),
                ),
                (
                    "response",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="responses.response",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="items", to="studies.study"
                    ),
                ),
                (
                    "turn",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="dialogues.turn",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("removed_at__isnull", False)),
                        fields=["study"],
                        name="item_removed",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("right_answers__isnull", True), ("removed_at__isnull", True), _connector="OR"
                        ),
                        name="item_gold_is_not_removed",
                    ),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(
                            models.Func(
                                models.F("turn"),
                                models.F("response"),
                                models.F("dialogue"),
                                models.F("pair"),
                                models.F("context"),
                                function="num_nonnulls",
                                output_field=models.IntegerField(),
                            ),
                            1,
                        ),
                        name="item_has_one_subject",
                    ),
                    models.UniqueConstraint(fields=("study", "ask", "turn"), name="item_once_per_turn"),
                    models.UniqueConstraint(
                        fields=("study", "ask", "response"), name="item_once_per_response"
                    ),
                    models.UniqueConstraint(
                        fields=("study", "ask", "dialogue"), name="item_once_per_dialogue"
                    ),
                    models.UniqueConstraint(fields=("study", "ask", "pair"), name="item_once_per_pair"),
                    models.UniqueConstraint(fields=("study", "ask", "context"), name="item_once_per_context"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("is_instructed", False), ("right_answers__isnull", True)),
                            models.Q(
                                ("right_answers__isnull", False),
                                models.Q(("right_answers", {}), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="item_gold_has_answers",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="JudgingPlan",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "raters_per_item",
                    models.PositiveSmallIntegerField(
                        default=5,
                        help_text="How many different workers judge each item: 5 in the paper.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(25),
                        ],
                        verbose_name="raters per item",
                    ),
                ),
                (
                    "batch_size",
                    models.PositiveSmallIntegerField(
                        default=50,
                        help_text="After this many the worker is done and gets the completion code.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(500),
                        ],
                        verbose_name="items per worker",
                    ),
                ),
                (
                    "third_rater",
                    models.BooleanField(
                        default=False,
                        help_text="If workers answer a question about an item differently, one more judges it. Free text is not compared.",
                        verbose_name="one more if they differ",
                    ),
                ),
                (
                    "shows_reading",
                    models.BooleanField(
                        default=False,
                        help_text="Where those who talked had texts beside the conversation, or a context has sentences to read, its judges have them, too. It is fixed once the study has been opened.",
                        verbose_name="show readers what the chatters read",
                    ),
                ),
                (
                    "training_tries",
                    models.PositiveSmallIntegerField(
                        default=0,
                        help_text="Before they begin, workers must answer all training questions of the set correctly, in this many attempts. 0: no training.",
                        validators=[django.core.validators.MaxValueValidator(20)],
                        verbose_name="attempts at the training questions",
                    ),
                ),
                (
                    "gold_items",
                    models.PositiveSmallIntegerField(
                        default=0,
                        help_text="Items with a known answer that every worker also judges, at random points. They count in no score.",
                        validators=[django.core.validators.MaxValueValidator(50)],
                        verbose_name="gold items per worker",
                    ),
                ),
                (
                    "lease_seconds",
                    models.PositiveIntegerField(
                        default=600,
                        help_text="A worker who is inactive for this long loses their current item to another worker.",
                        validators=[
                            django.core.validators.MinValueValidator(30),
                            django.core.validators.MaxValueValidator(86400),
                        ],
                        verbose_name="seconds for an item",
                    ),
                ),
                (
                    "of_transcripts",
                    models.BooleanField(
                        default=False,
                        help_text="Whether its way begins with a file of conversations, which is imported into it.",
                    ),
                ),
                (
                    "draws",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="What was drawn at random into the queue: how many of how many, and by which seed.",
                    ),
                ),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="judging",
                        to="studies.study",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Slot",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveSmallIntegerField(help_text="From 1.")),
                ("key", models.UUIDField()),
                (
                    "asks_reason",
                    models.BooleanField(
                        default=False, help_text="Of a deck: whether the free-text questions are asked here."
                    ),
                ),
                (
                    "deck",
                    models.PositiveIntegerField(
                        blank=True, help_text="Number of the battery, from 1.", null=True
                    ),
                ),
                (
                    "occasion",
                    models.PositiveSmallIntegerField(
                        default=1, help_text="2 where whoever judges it here has judged the same item before."
                    ),
                ),
                (
                    "position",
                    models.PositiveSmallIntegerField(blank=True, help_text="In the deck, from 1.", null=True),
                ),
                ("language", models.CharField(max_length=10)),
                (
                    "is_swapped",
                    models.BooleanField(
                        default=False,
                        help_text="Of a pair: whether whoever judges it here sees its second side first.",
                    ),
                ),
                (
                    "is_gold",
                    models.BooleanField(
                        db_default=False,
                        help_text="Of a gold item: made for the batch, and never anybody else's.",
                    ),
                ),
                ("leased_until", models.DateTimeField(blank=True, null=True)),
                (
                    "batch",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="slots",
                        to="judging.batch",
                    ),
                ),
                (
                    "item",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="slots",
                        to="judging.item",
                    ),
                ),
                (
                    "label",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="slot",
                        to="labels.label",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("label", None)),
                        fields=["study", "language", "key"],
                        name="slot_open",
                    ),
                    models.Index(
                        condition=models.Q(("batch__isnull", False), ("label", None)),
                        fields=["batch"],
                        name="slot_held",
                    ),
                    models.Index(
                        condition=models.Q(("is_gold", True)),
                        fields=["label"],
                        name="slot_of_gold",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("item", "number"), name="slot_once_per_number"),
                    models.UniqueConstraint(fields=("batch", "key"), name="slot_once_per_batch"),
                    models.UniqueConstraint(
                        condition=models.Q(("deck__isnull", False)),
                        fields=("study", "deck", "position"),
                        name="slot_once_per_position",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("deck", None), ("position", None)),
                            ("position__gte", 1),
                            _connector="OR",
                        ),
                        name="slot_of_a_deck_has_a_position",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("occasion__gte", 1)), name="slot_occasions_count_from_1"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Battery",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "targets",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=200),
                        help_text="One item of each in every battery.",
                        size=None,
                    ),
                ),
                (
                    "fillers_of",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=200), blank=True, default=list, size=None
                    ),
                ),
                (
                    "fillers",
                    models.PositiveSmallIntegerField(
                        default=0,
                        help_text="Items of these systems in every battery, all of them different.",
                        validators=[django.core.validators.MaxValueValidator(200)],
                    ),
                ),
                (
                    "repeats",
                    models.PositiveSmallIntegerField(
                        default=0,
                        help_text="Fillers that come a second time.",
                        validators=[django.core.validators.MaxValueValidator(50)],
                    ),
                ),
                (
                    "reasons_at",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.PositiveSmallIntegerField(
                            validators=[django.core.validators.MinValueValidator(1)]
                        ),
                        blank=True,
                        default=list,
                        help_text="Positions, from 1, at which workers answer the free-text questions, too. For example: 5, 15",
                        size=None,
                    ),
                ),
                (
                    "workers",
                    models.PositiveSmallIntegerField(
                        default=100,
                        help_text="In each language.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(5000),
                        ],
                    ),
                ),
                (
                    "compared_with",
                    models.CharField(
                        blank=True,
                        help_text="The target that the report compares the others with.",
                        max_length=200,
                    ),
                ),
                (
                    "seed",
                    models.PositiveIntegerField(
                        default=1, help_text="A different number draws different batteries."
                    ),
                ),
                ("repeat_points", models.PositiveSmallIntegerField(blank=True, null=True)),
                (
                    "repeat_questions",
                    models.PositiveSmallIntegerField(
                        default=1, validators=[django.core.validators.MinValueValidator(1)]
                    ),
                ),
                (
                    "least_spread",
                    models.FloatField(
                        blank=True, null=True, validators=[django.core.validators.MinValueValidator(0)]
                    ),
                ),
                (
                    "least_seconds",
                    models.FloatField(
                        blank=True, null=True, validators=[django.core.validators.MinValueValidator(0)]
                    ),
                ),
                ("filler_question", models.CharField(blank=True, max_length=60)),
                ("filler_least", models.FloatField(blank=True, null=True)),
                ("filler_misses", models.PositiveSmallIntegerField(default=0)),
                (
                    "plan",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="battery",
                        to="judging.judgingplan",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "batteries",
            },
        ),
        migrations.CreateModel(
            name="Training",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("passed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="trainings",
                        to="studies.study",
                    ),
                ),
                (
                    "worker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="trainings",
                        to="crowd.worker",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("worker", "study"), name="training_once_per_worker")
                ],
            },
        ),
        migrations.CreateModel(
            name="Agreement",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("ready", "Ready"),
                            ("failed", "Failed"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("wanted_at", models.DateTimeField(help_text="When it was last asked for.")),
                (
                    "attempts",
                    models.PositiveSmallIntegerField(default=0, help_text="How often it was begun since."),
                ),
                ("done", models.PositiveIntegerField(default=0, help_text="Bots compared so far.")),
                ("bots", models.PositiveIntegerField(default=0, help_text="Bots to be compared.")),
                (
                    "covers",
                    models.CharField(blank=True, help_text="Which labels the result is of.", max_length=60),
                ),
                (
                    "figures",
                    models.JSONField(
                        blank=True, default=list, help_text="Of each bot, what both parties say."
                    ),
                ),
                (
                    "things",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(),
                        default=list,
                        help_text="Those of both, the most disputed first.",
                        size=None,
                    ),
                ),
                ("reason", models.TextField(blank=True, help_text="Why it failed.")),
                (
                    "ask",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="agreement",
                        to="studies.ask",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "failed"), _negated=True),
                            models.Q(("reason", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="agreement_failed_has_reason",
                    )
                ],
            },
        ),
        migrations.RunSQL(
            "ALTER TABLE judging_item ADD CONSTRAINT item_is_of_an_ask_of_its_study "
            "FOREIGN KEY (ask_id, study_id) REFERENCES studies_ask (id, study_id) "
            "DEFERRABLE INITIALLY DEFERRED",
            migrations.RunSQL.noop,
        ),
        LoadSQL(
            "judging",
            "key",
            "said_in",
            "speaker",
            "system",
            "may_judge",
            "exceeds_address_limit",
            "shown",
            "shown_in",
            "requeue_deck",
            "deal",
            "gold",
            "lease",
            "requeue_slot",
            "save",
            "third",
            "judge",
        ),
    ]
