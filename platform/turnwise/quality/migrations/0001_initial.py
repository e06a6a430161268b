import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from turnwise.live.sql import LoadSQL


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("crowd", "0001_initial"),
        ("studies", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Limits",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "unread_share",
                    models.FloatField(
                        default=0.3,
                        help_text="Share of the answers that came faster than anybody reads.",
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(1),
                        ],
                        verbose_name="Answers before reading",
                    ),
                ),
                (
                    "pace",
                    models.FloatField(
                        default=0.35,
                        help_text="Of the others' time on the same items, the median.",
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(1),
                        ],
                        verbose_name="Pace",
                    ),
                ),
                (
                    "run_chance",
                    models.FloatField(
                        default=0.001,
                        help_text="That the same answer comes so often in a row.",
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(1),
                        ],
                        verbose_name="Chance of a run",
                    ),
                ),
                (
                    "repeats_least",
                    models.FloatField(
                        default=0.5,
                        help_text="Below this share of what comes a second time.",
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(1),
                        ],
                        verbose_name="Same answer twice",
                    ),
                ),
                (
                    "peers_gap",
                    models.FloatField(
                        default=0.1,
                        help_text="So much less than the others agree among themselves.",
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(1),
                        ],
                        verbose_name="Agreement lost",
                    ),
                ),
                (
                    "gold_least",
                    models.FloatField(
                        default=0.7,
                        help_text="Surely below this share.",
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(1),
                        ],
                        verbose_name="Gold judged correctly",
                    ),
                ),
                (
                    "attention_misses",
                    models.PositiveSmallIntegerField(
                        default=0, help_text="More failed than this.", verbose_name="Attention checks"
                    ),
                ),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="quality_limits",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "limits",
            },
        ),
        migrations.CreateModel(
            name="Qualification",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("title", models.CharField(max_length=120, verbose_name="title")),
                (
                    "questions",
                    models.JSONField(
                        help_text="Each with `text`, `choices`, `right` (numbers of the right ones, from 0) and `why`."
                    ),
                ),
                (
                    "pass_mark",
                    models.PositiveSmallIntegerField(
                        help_text="This many right answers, or more, pass.",
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="pass mark",
                    ),
                ),
                (
                    "tries",
                    models.PositiveSmallIntegerField(
                        default=2,
                        help_text="How often somebody can try, in all studies together.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(20),
                        ],
                        verbose_name="tries",
                    ),
                ),
                (
                    "feedback",
                    models.BooleanField(
                        default=True,
                        help_text="After an attempt that does not pass: which answers were wrong, and why.",
                        verbose_name="say what was wrong",
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="qualifications",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("title", "pk"),
            },
        ),
        migrations.CreateModel(
            name="Requirement",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "qualification",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="requirements",
                        to="quality.qualification",
                    ),
                ),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="requirement",
                        to="studies.study",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Block",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("reason", models.CharField(max_length=500)),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "worker",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="blocks",
                        to="crowd.worker",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("worker", "owner"), name="blocked_once")],
            },
        ),
        migrations.CreateModel(
            name="Check",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("question_set", models.CharField(max_length=60)),
                ("question", models.CharField(max_length=60)),
                ("right", models.JSONField(help_text="The answer that it asks for.")),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="attention_checks",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "ordering": ("pk",),
                "constraints": [
                    models.UniqueConstraint(fields=("study", "question_set", "question"), name="check_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Decision",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("participation", models.BigIntegerField(help_text="Its key.")),
                ("worker", models.CharField(help_text="Pseudonym.", max_length=20)),
                (
                    "action",
                    models.CharField(
                        choices=[
                            ("keep", "Keep"),
                            ("exclude", "Exclude"),
                            ("block", "Block"),
                            ("approve", "Approve"),
                            ("reject", "Reject"),
                            ("undo", "Undo"),
                        ],
                        max_length=10,
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=500)),
                ("by", models.CharField(max_length=150)),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="decisions",
                        to="studies.study",
                    ),
                ),
                (
                    "undoes",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="undone_by",
                        to="quality.decision",
                    ),
                ),
            ],
            options={
                "ordering": ("-pk",),
                "indexes": [models.Index(fields=["study", "participation"], name="decisions_about")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("action", "undo"), ("undoes__isnull", False)),
                            models.Q(models.Q(("action", "undo"), _negated=True), ("undoes__isnull", True)),
                            _connector="OR",
                        ),
                        name="decision_undoes_one",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("action__in", ("exclude", "block", "reject")), _negated=True),
                            models.Q(("reason", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="decision_against_has_reason",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Flag",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=20)),
                ("figures", models.JSONField(help_text="What it rests on, by name.")),
                (
                    "evidence",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(),
                        default=list,
                        help_text="Labels to look at.",
                        size=None,
                    ),
                ),
                ("found_at", models.DateTimeField()),
                (
                    "participation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="flags",
                        to="crowd.participation",
                    ),
                ),
            ],
            options={
                "ordering": ("participation", "kind"),
                "constraints": [
                    models.UniqueConstraint(fields=("participation", "kind"), name="flag_once_per_kind")
                ],
            },
        ),
        migrations.CreateModel(
            name="Attempt",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveSmallIntegerField(help_text="From 1.")),
                ("right", models.PositiveSmallIntegerField(help_text="How many answers were right.")),
                ("passed", models.BooleanField()),
                (
                    "given",
                    models.JSONField(help_text="By question, the numbers of the choices that were given."),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "participation",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="attempts",
                        to="crowd.participation",
                    ),
                ),
                (
                    "worker",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="attempts",
                        to="crowd.worker",
                    ),
                ),
                (
                    "qualification",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="attempts",
                        to="quality.qualification",
                    ),
                ),
            ],
            options={
                "ordering": ("worker", "qualification", "number"),
                "constraints": [
                    models.UniqueConstraint(fields=("worker", "qualification", "number"), name="attempt_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="MessageTemplate",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("rejection", "On rejection"),
                            ("bonus", "With a bonus"),
                            ("thanks", "Thanks"),
                        ],
                        default="rejection",
                        max_length=10,
                        verbose_name="kind",
                    ),
                ),
                ("title", models.CharField(max_length=80, verbose_name="title")),
                ("text", models.TextField(max_length=500, verbose_name="text")),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="message_templates",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("owner", "kind", "title"),
                "constraints": [
                    models.UniqueConstraint(fields=("owner", "title"), name="message_once_per_title")
                ],
            },
        ),
        LoadSQL("quality", "decisions_never_change"),
    ]
