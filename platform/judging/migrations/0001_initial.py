import uuid

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models

from live.sql import LoadSQL


class Migration(migrations.Migration):
    initial = True

    dependencies = [
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
                        default=uuid.uuid4,
                        editable=False,
                        help_text="Random: the order in which items are judged, and their name on the page. So neither tells which system an item is from.",
                        unique=True,
                    ),
                ),
                ("language", models.CharField(max_length=10)),
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
                        help_text="Different workers who judge each item: 5 in the paper.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(25),
                        ],
                    ),
                ),
                (
                    "batch_size",
                    models.PositiveSmallIntegerField(
                        default=50,
                        help_text="After so many the worker is done and gets the completion code.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(500),
                        ],
                        verbose_name="items per worker",
                    ),
                ),
                (
                    "lease_seconds",
                    models.PositiveIntegerField(
                        default=600,
                        help_text="A worker who is silent for so long loses the item that they have before them to another.",
                        validators=[
                            django.core.validators.MinValueValidator(30),
                            django.core.validators.MaxValueValidator(86400),
                        ],
                        verbose_name="seconds for an item",
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
                ("language", models.CharField(max_length=10)),
                (
                    "is_swapped",
                    models.BooleanField(
                        default=False,
                        help_text="Of a pair: whether whoever judges it here sees its second side first.",
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
        ),
        migrations.AddConstraint(
            model_name="batch",
            constraint=models.CheckConstraint(
                condition=models.Q(("done__lte", models.F("size"))), name="batch_within_size"
            ),
        ),
        migrations.AddConstraint(
            model_name="item",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("dialogue__isnull", True),
                        ("pair__isnull", True),
                        ("response__isnull", True),
                        ("turn__isnull", False),
                    ),
                    models.Q(
                        ("dialogue__isnull", True),
                        ("pair__isnull", True),
                        ("response__isnull", False),
                        ("turn__isnull", True),
                    ),
                    models.Q(
                        ("dialogue__isnull", False),
                        ("pair__isnull", True),
                        ("response__isnull", True),
                        ("turn__isnull", True),
                    ),
                    models.Q(
                        ("dialogue__isnull", True),
                        ("pair__isnull", False),
                        ("response__isnull", True),
                        ("turn__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="item_has_one_subject",
            ),
        ),
        migrations.AddConstraint(
            model_name="item",
            constraint=models.UniqueConstraint(fields=("study", "turn"), name="item_once_per_turn"),
        ),
        migrations.AddConstraint(
            model_name="item",
            constraint=models.UniqueConstraint(fields=("study", "response"), name="item_once_per_response"),
        ),
        migrations.AddConstraint(
            model_name="item",
            constraint=models.UniqueConstraint(fields=("study", "dialogue"), name="item_once_per_dialogue"),
        ),
        migrations.AddConstraint(
            model_name="item",
            constraint=models.UniqueConstraint(fields=("study", "pair"), name="item_once_per_pair"),
        ),
        migrations.AddIndex(
            model_name="slot",
            index=models.Index(
                condition=models.Q(("label", None)), fields=["study", "language", "key"], name="slot_open"
            ),
        ),
        migrations.AddIndex(
            model_name="slot",
            index=models.Index(
                condition=models.Q(("batch__isnull", False), ("label", None)),
                fields=["batch"],
                name="slot_held",
            ),
        ),
        migrations.AddConstraint(
            model_name="slot",
            constraint=models.UniqueConstraint(fields=("item", "number"), name="slot_once_per_number"),
        ),
        migrations.AddConstraint(
            model_name="slot",
            constraint=models.UniqueConstraint(fields=("batch", "key"), name="slot_once_per_batch"),
        ),
        LoadSQL("judging", "said_in", "speaker", "system", "may_judge", "shown", "lease", "save", "judge"),
    ]
