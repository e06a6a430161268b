import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.comparison
import django.db.models.lookups
from django.conf import settings
from django.db import migrations, models

from turnwise.live.sql import LoadSQL


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("knowledge", "0001_initial"),
        ("bots", "0001_initial"),
        ("crowd", "0001_initial"),
        ("studies", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Dialogue",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("started_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "ending",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("complete", "Complete"),
                            ("bot_failed", "Ended because the bot could not answer"),
                            ("partner_left", "Ended because one of two people left"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "origin",
                    models.CharField(
                        choices=[
                            ("live", "Held here"),
                            ("imported", "Imported from a file"),
                            ("relayed", "Relayed by hand from another website"),
                        ],
                        db_default="live",
                        default="live",
                        max_length=10,
                    ),
                ),
                ("source_id", models.CharField(blank=True, db_default="", default="", max_length=200)),
                ("source_details", models.JSONField(blank=True, null=True)),
                (
                    "language",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Code; empty where nobody said which.",
                        max_length=10,
                    ),
                ),
                (
                    "opening_turns",
                    models.SmallIntegerField(help_text="1 if position 0 is a scripted opening, else 0."),
                ),
                ("min_turns", models.SmallIntegerField()),
                ("max_turns", models.SmallIntegerField()),
                (
                    "turns",
                    models.SmallIntegerField(default=0, help_text="All turns, the opening included."),
                ),
                (
                    "bot_turns",
                    models.SmallIntegerField(default=0, help_text="Counted turns of bots."),
                ),
                (
                    "due_0",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), blank=True, default=list, size=None
                    ),
                ),
                (
                    "due_1",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), blank=True, default=list, size=None
                    ),
                ),
                (
                    "closing",
                    models.BooleanField(
                        default=False,
                        help_text="One of two people has finished: no more turns, but the other's annotations.",
                    ),
                ),
                (
                    "relayed_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="dialogues",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["study", "ending"], name="dialogue_of_study"),
                    models.Index(fields=["study", "-started_at", "-id"], name="dialogue_newest_of_study"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("origin", "imported"),
                            (
                                "turns__lte",
                                django.db.models.expressions.CombinedExpression(
                                    models.F("max_turns"), "+", models.F("opening_turns")
                                ),
                            ),
                            _connector="OR",
                        ),
                        name="dialogue_within_max_turns",
                    ),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(
                            models.Q(("ending", "")), models.Q(("ended_at", None))
                        ),
                        name="dialogue_ended_with_ending",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ending", "complete"), _negated=True),
                            ("origin", "imported"),
                            models.Q(
                                django.db.models.lookups.GreaterThanOrEqual(
                                    django.db.models.functions.comparison.Greatest(
                                        django.db.models.expressions.CombinedExpression(
                                            models.F("bot_turns"), "*", models.Value(2)
                                        ),
                                        django.db.models.expressions.CombinedExpression(
                                            models.F("turns"), "-", models.F("opening_turns")
                                        ),
                                    ),
                                    models.F("min_turns"),
                                ),
                                ("due_0", []),
                                ("due_1", []),
                            ),
                            _connector="OR",
                        ),
                        name="dialogue_complete_is_whole",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Fault",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("position", models.PositiveSmallIntegerField(help_text="Where the reply was due.")),
                ("kind", models.CharField(max_length=40)),
                ("detail", models.TextField(blank=True)),
                ("at", models.DateTimeField()),
                (
                    "dialogue",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="faults",
                        to="dialogues.dialogue",
                    ),
                ),
            ],
            options={
                "ordering": ("dialogue", "at"),
            },
        ),
        migrations.CreateModel(
            name="OperatorReply",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("position", models.PositiveSmallIntegerField()),
                ("text", models.CharField(max_length=4000)),
                (
                    "key",
                    models.UUIDField(
                        help_text="Made by the operator's browser; a resent frame has it again."
                    ),
                ),
                ("written_at", models.DateTimeField()),
                (
                    "due_at",
                    models.DateTimeField(
                        help_text="Not shown before, lest its speed give the operator away."
                    ),
                ),
                (
                    "bot_version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="bots.botversion"
                    ),
                ),
                (
                    "by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "dialogue",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="operator_replies",
                        to="dialogues.dialogue",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "operator replies",
                "ordering": ("dialogue", "position"),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("dialogue", "position"), name="operator_reply_once_per_position"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("text", ""), _negated=True), name="operator_reply_says_something"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TranscriptImport",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("file_name", models.CharField(max_length=200)),
                ("sha256", models.CharField(max_length=64)),
                (
                    "format",
                    models.CharField(
                        blank=True,
                        help_text="A key of transcripts.importers.FORMATS; empty: none fits.",
                        max_length=40,
                    ),
                ),
                ("uploaded_at", models.DateTimeField()),
                (
                    "content",
                    models.BinaryField(
                        blank=True, help_text="The file, compressed, until it is imported.", null=True
                    ),
                ),
                (
                    "asked_at",
                    models.DateTimeField(blank=True, help_text="When its import was asked for.", null=True),
                ),
                (
                    "refusal",
                    models.TextField(
                        blank=True, help_text="Why it was not imported when that was asked for."
                    ),
                ),
                ("imported_at", models.DateTimeField(blank=True, null=True)),
                (
                    "systems",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="By speaker of the file, the system it is; empty for a person.",
                    ),
                ),
                (
                    "scripted_opening",
                    models.BooleanField(
                        default=False,
                        help_text="Whether first turns are scripted, so that nobody judges them.",
                    ),
                ),
                (
                    "language",
                    models.CharField(
                        blank=True, help_text="Empty: the only one of the study.", max_length=35
                    ),
                ),
                ("conversations", models.PositiveIntegerField(default=0)),
                ("turns", models.PositiveIntegerField(default=0)),
                (
                    "labels",
                    models.PositiveIntegerField(
                        default=0, help_text="Of raters elsewhere, that came with the file."
                    ),
                ),
                (
                    "left_out",
                    models.PositiveIntegerField(
                        default=0, help_text="Problems for which something stayed out."
                    ),
                ),
                (
                    "by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="imports",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "ordering": ("-uploaded_at",),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("content__isnull", False), ("imported_at", None)),
                            models.Q(("content", None), ("imported_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="import_keeps_file_until_imported",
                    )
                ],
            },
        ),
        migrations.AddField(
            model_name="dialogue",
            name="imported_in",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="dialogues",
                to="dialogues.transcriptimport",
            ),
        ),
        migrations.CreateModel(
            name="Turn",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("position", models.PositiveSmallIntegerField()),
                ("text", models.CharField(max_length=4000)),
                ("created_at", models.DateTimeField()),
                (
                    "key",
                    models.UUIDField(
                        blank=True,
                        help_text="Made by the worker's browser; a resent frame has it again.",
                        null=True,
                    ),
                ),
                ("latency_ms", models.PositiveIntegerField(blank=True, null=True)),
                ("seed", models.BigIntegerField(blank=True, null=True)),
                (
                    "candidates",
                    models.JSONField(
                        blank=True,
                        help_text="Other responses with their scores, if the bot gives them.",
                        null=True,
                    ),
                ),
                (
                    "remarks",
                    models.JSONField(
                        blank=True,
                        help_text="Of its filters or service: {texts: […], fallback: whether a prepared sentence was said}.",
                        null=True,
                    ),
                ),
                (
                    "bot_version",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="bots.botversion",
                    ),
                ),
                (
                    "dialogue",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="turn_set",
                        to="dialogues.dialogue",
                    ),
                ),
            ],
            options={
                "ordering": ("dialogue", "position"),
                "indexes": [
                    models.Index(
                        condition=models.Q(("remarks__isnull", False)),
                        fields=["dialogue"],
                        name="turn_with_remarks",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("dialogue", "position"), name="turn_once_per_position"),
                    models.UniqueConstraint(fields=("dialogue", "key"), name="turn_once_per_key"),
                    models.CheckConstraint(
                        condition=models.Q(("text", ""), _negated=True), name="turn_says_something"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Seat",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveSmallIntegerField(help_text="0 speaks first.")),
                (
                    "name",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Of a person elsewhere.",
                        max_length=120,
                    ),
                ),
                (
                    "seen_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="Of two people: when a tab of this one was last known to be open.",
                        null=True,
                    ),
                ),
                (
                    "asks",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="What this person is asked, as when the conversation began.",
                    ),
                ),
                (
                    "assignment",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="seat",
                        to="crowd.assignment",
                    ),
                ),
                (
                    "bot",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="seats",
                        to="bots.bot",
                    ),
                ),
                (
                    "dialogue",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="seats",
                        to="dialogues.dialogue",
                    ),
                ),
                (
                    "operator",
                    models.ForeignKey(
                        blank=True,
                        help_text="Who of the team speaks in a bot's place.",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "worker",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="seats",
                        to="crowd.worker",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("dialogue", "number"), name="seat_once_per_number"),
                    models.CheckConstraint(condition=models.Q(("number__in", (0, 1))), name="seat_is_0_or_1"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("bot__isnull", False), ("name", ""), ("worker", None)),
                            models.Q(("bot", None), ("name", ""), ("worker__isnull", False)),
                            models.Q(("bot", None), ("worker", None), models.Q(("name", ""), _negated=True)),
                            _connector="OR",
                        ),
                        name="seat_is_taken_by_one",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("assignment", None), ("worker__isnull", False), _connector="OR"),
                        name="seat_of_worker_has_the_assignment",
                    ),
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="dialogue",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(
                    models.Q(("origin", "imported")), models.Q(("imported_in__isnull", False))
                ),
                name="dialogue_is_imported_in_an_import",
            ),
        ),
        migrations.CreateModel(
            name="Material",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "number",
                    models.PositiveSmallIntegerField(
                        help_text="Its place among what the seat reads, from 1."
                    ),
                ),
                ("key", models.CharField(help_text="Short name in files: FS1", max_length=20)),
                ("title", models.CharField(help_text="What the reader knows it by.", max_length=120)),
                ("heading", models.CharField(blank=True, help_text="What it is about.", max_length=300)),
                ("text", models.TextField(blank=True)),
                (
                    "points",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(),
                        blank=True,
                        default=list,
                        help_text="Single facts after the text.",
                        size=None,
                    ),
                ),
                (
                    "variant",
                    models.CharField(
                        blank=True,
                        help_text="Which version of a text that has several: shortened, summarized.",
                        max_length=20,
                    ),
                ),
                (
                    "seat",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="materials",
                        to="dialogues.seat",
                    ),
                ),
            ],
            options={
                "ordering": ("seat", "number"),
                "constraints": [
                    models.UniqueConstraint(fields=("seat", "number"), name="material_once_per_number"),
                    models.UniqueConstraint(fields=("seat", "key"), name="material_once_per_key"),
                    models.CheckConstraint(
                        condition=models.Q(("points", []), ("text", ""), _negated=True),
                        name="material_says_something",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReadingSet",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("configuration", models.CharField(max_length=1)),
                ("seed", models.BigIntegerField()),
                (
                    "counts",
                    models.BooleanField(default=True, help_text="Whether it is one of those of its article."),
                ),
                (
                    "article",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="knowledge.article"
                    ),
                ),
                (
                    "dialogue",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="reading_set",
                        to="dialogues.dialogue",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ArticleUse",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uses", models.PositiveSmallIntegerField()),
                (
                    "article",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="knowledge.article"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="article_uses",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("study", "article"), name="article_use_once_per_study"),
                    models.CheckConstraint(
                        condition=models.Q(("uses__lte", 4)), name="article_is_not_overused"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Typing",
            fields=[
                (
                    "turn",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="typing",
                        serialize=False,
                        to="dialogues.turn",
                    ),
                ),
                ("pasted", models.PositiveIntegerField(help_text="Characters that came in by pasting.")),
                ("typing_ms", models.PositiveIntegerField(help_text="Time of typing, without pauses.")),
            ],
        ),
        LoadSQL(
            "dialogues",
            "codes",
            "come",
            "say",
            "reply",
            "say_and_reply",
            "turn_only_in_open_dialogue",
            "material_never_changes",
            "take_article",
        ),
    ]
