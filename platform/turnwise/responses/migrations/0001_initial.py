import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("bots", "0001_initial"),
        ("contexts", "0001_initial"),
        ("crowd", "0001_initial"),
        ("studies", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Sweep",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("seed", models.BigIntegerField(help_text="Of every run: each pair is asked with the same.")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "bot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="sweeps", to="bots.bot"
                    ),
                ),
                (
                    "context_version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="sweeps",
                        to="contexts.contextsetversion",
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="sweeps",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("-pk",),
            },
        ),
        migrations.CreateModel(
            name="ResponseRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "source",
                    models.CharField(
                        choices=[("bot", "A bot"), ("person", "People"), ("file", "A file")], max_length=10
                    ),
                ),
                (
                    "system",
                    models.CharField(help_text="What reports call whoever responded.", max_length=120),
                ),
                (
                    "repetitions",
                    models.PositiveSmallIntegerField(
                        default=1, help_text="Responses wanted for each context."
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Waiting to start"),
                            ("running", "Under way"),
                            ("done", "Complete"),
                            ("failed", "Stopped with errors"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("reason", models.TextField(blank=True, help_text="Why it stopped.")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "active_at",
                    models.DateTimeField(blank=True, help_text="When a job last worked on it.", null=True),
                ),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "decoding",
                    models.JSONField(
                        blank=True, default=dict, help_text="The bot's configuration when the run began."
                    ),
                ),
                (
                    "seed",
                    models.BigIntegerField(
                        blank=True, help_text="Seeds of all responses are derived from it.", null=True
                    ),
                ),
                (
                    "bot",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="bots.bot",
                    ),
                ),
                (
                    "bot_version",
                    models.ForeignKey(
                        blank=True,
                        help_text="Who answered first. A bot that changes on the way stops the run.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="bots.botversion",
                    ),
                ),
                (
                    "context_version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="contexts.contextsetversion",
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "study",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="response_run",
                        to="studies.study",
                    ),
                ),
                (
                    "sweep",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="responses.sweep",
                    ),
                ),
                ("samples", models.PositiveSmallIntegerField(blank=True, help_text="N.", null=True)),
                ("temperature", models.FloatField(blank=True, help_text="T.", null=True)),
            ],
            options={
                "ordering": ("-pk",),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("bot__isnull", False),
                                ("seed__isnull", False),
                                ("source", "bot"),
                                ("study", None),
                            ),
                            models.Q(
                                ("bot", None),
                                ("bot_version", None),
                                ("seed", None),
                                ("source", "person"),
                                ("study__isnull", False),
                            ),
                            models.Q(
                                ("bot", None),
                                ("bot_version", None),
                                ("seed", None),
                                ("source", "file"),
                                ("study", None),
                            ),
                            _connector="OR",
                        ),
                        name="run_belongs_to_its_source",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("samples", None), ("sweep", None), ("temperature", None)),
                            models.Q(
                                ("samples__gte", 1),
                                ("source", "bot"),
                                ("sweep__isnull", False),
                                ("temperature__gt", 0),
                            ),
                            _connector="OR",
                        ),
                        name="run_of_sweep_has_n_and_t",
                    ),
                    models.UniqueConstraint(
                        fields=("sweep", "samples", "temperature"), name="run_once_per_n_and_t_of_sweep"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("repetitions__gte", 1)), name="run_wants_responses"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "failed"), _negated=True),
                            models.Q(("reason", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="run_failed_for_a_reason",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ResponseFault",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("repetition", models.PositiveSmallIntegerField()),
                ("attempts", models.PositiveSmallIntegerField(default=1)),
                ("kind", models.CharField(max_length=40)),
                ("detail", models.TextField(blank=True)),
                ("at", models.DateTimeField()),
                (
                    "context",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="contexts.context"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="faults",
                        to="responses.responserun",
                    ),
                ),
            ],
            options={
                "ordering": ("run", "context", "repetition"),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "context", "repetition"), name="fault_once_per_repetition"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Response",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("repetition", models.PositiveSmallIntegerField(default=1, help_text="From 1.")),
                ("text", models.CharField(max_length=4000)),
                ("created_at", models.DateTimeField()),
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
                    "author",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="responses",
                        to="crowd.participation",
                    ),
                ),
                (
                    "bot_version",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="responses",
                        to="bots.botversion",
                    ),
                ),
                (
                    "context",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="responses",
                        to="contexts.context",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="responses",
                        to="responses.responserun",
                    ),
                ),
            ],
            options={
                "ordering": ("run", "context", "repetition"),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "context", "repetition"), name="response_once_per_repetition"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("author__isnull", False)),
                        fields=("run", "context", "author"),
                        name="response_once_per_author",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("text", ""), _negated=True), name="response_says_something"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("repetition__gte", 1)), name="response_repetition_from_1"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("author", None), ("bot_version", None), _connector="OR"),
                        name="response_of_bot_or_person",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="WritingPlace",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("repetition", models.PositiveSmallIntegerField()),
                ("held_since", models.DateTimeField()),
                (
                    "context",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="contexts.context"
                    ),
                ),
                (
                    "participation",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="writing_place",
                        to="crowd.participation",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="places",
                        to="responses.responserun",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "context", "repetition"), name="place_once_per_repetition"
                    )
                ],
            },
        ),
    ]
