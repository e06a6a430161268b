import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Bot",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(max_length=60, unique=True)),
                (
                    "title",
                    models.CharField(
                        help_text="Shown to researchers, and to workers if a study is open.", max_length=120
                    ),
                ),
                (
                    "open_to_all",
                    models.BooleanField(
                        default=False,
                        help_text="Everybody who signs in can see its settings and figures, talk with it and use it in their studies.",
                        verbose_name="everybody can use it",
                    ),
                ),
                ("adapter", models.CharField(help_text="Name in the registry of chatbots/.", max_length=60)),
                ("configuration", models.JSONField(blank=True, default=dict)),
                (
                    "active",
                    models.BooleanField(
                        default=True, help_text="Inactive bots are not loaded and get no new workers."
                    ),
                ),
                (
                    "watched",
                    models.BooleanField(
                        default=True,
                        help_text="Asked the same twenty things every day, to notice when it changes.",
                    ),
                ),
                (
                    "memory_bytes",
                    models.PositiveBigIntegerField(
                        blank=True, editable=False, help_text="Measured when it was last loaded.", null=True
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "owner",
                    models.ForeignKey(
                        blank=True,
                        help_text="May change and share it, as admins may. Empty: nobody but admins may.",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="bots",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "shared_with",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Who may do so besides the owner and admins.",
                        related_name="shared_bots",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "operators",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Who may answer in its place besides the owner and admins, if a person does.",
                        related_name="operated_bots",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="BotVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "number",
                    models.PositiveIntegerField(
                        help_text="Of the bot's versions, in the order of their coming."
                    ),
                ),
                ("fingerprint", models.CharField(help_text="SHA-256 of the details.", max_length=64)),
                ("details", models.JSONField(help_text="Adapter, code version, configuration, libraries.")),
                ("first_seen_at", models.DateTimeField(auto_now_add=True)),
                (
                    "perplexity",
                    models.FloatField(
                        blank=True,
                        help_text="Per token of held-out responses; at least 1. Empty: not measured.",
                        null=True,
                    ),
                ),
                (
                    "perplexity_data",
                    models.CharField(
                        blank=True, help_text="The held-out data that it was measured on.", max_length=300
                    ),
                ),
                (
                    "perplexity_tokenizer",
                    models.CharField(
                        blank=True, help_text="What counted as a token. Empty: not known.", max_length=300
                    ),
                ),
                (
                    "bot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="versions", to="bots.bot"
                    ),
                ),
                (
                    "perplexity_entered_by",
                    models.ForeignKey(
                        blank=True,
                        help_text="Empty: nobody; the bot reports it itself, or their account is gone.",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("bot", "fingerprint"), name="bot_version_stored_once"),
                    models.UniqueConstraint(fields=("bot", "number"), name="bot_version_has_its_number"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("perplexity", None), ("perplexity_data", ""), ("perplexity_tokenizer", "")
                            ),
                            models.Q(
                                ("perplexity__gte", 1),
                                ("perplexity__isnull", False),
                                ("perplexity__lt", 1000000000000.0),
                                models.Q(("perplexity_data", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="bot_version_perplexity_says_on_what",
                        violation_error_message="A perplexity is a number of at least 1, and needs a note of the data that it was measured on.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CanaryRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "verdict",
                    models.CharField(
                        choices=[
                            ("baseline", "First answers of this version"),
                            ("same", "As before"),
                            ("changed", "Answers have changed"),
                            ("shifted", "Length or likelihood has shifted"),
                            ("failed", "Too few answers"),
                        ],
                        max_length=20,
                    ),
                ),
                ("said", models.TextField(blank=True, help_text="The verdict in words.")),
                (
                    "replies",
                    models.JSONField(
                        help_text="Per context: text, tokens, score; null where there was none."
                    ),
                ),
                (
                    "repeatable",
                    models.JSONField(
                        default=list,
                        help_text="Of a baseline, per context: whether asking twice gave the same.",
                    ),
                ),
                (
                    "bot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="canary_runs", to="bots.bot"
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="canary_runs",
                        to="bots.botversion",
                    ),
                ),
            ],
            options={
                "ordering": ("bot", "-at"),
                "indexes": [models.Index(fields=["version", "verdict"], name="canary_of_version")],
            },
        ),
        migrations.CreateModel(
            name="OperatorPresence",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("tab", models.UUIDField(blank=True, help_text="Empty: they closed it.", null=True)),
                (
                    "takes_new",
                    models.BooleanField(
                        default=True, help_text="Whether new conversations are given to them."
                    ),
                ),
                ("seen_at", models.DateTimeField(help_text="When their browser last said that it is there.")),
                (
                    "bot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="presences", to="bots.bot"
                    ),
                ),
                (
                    "operator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("bot", "operator"), name="operator_once_per_bot")
                ],
            },
        ),
        migrations.CreateModel(
            name="BotCopy",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("channel", models.CharField(help_text="Where the process takes requests.", max_length=120)),
                ("host", models.CharField(help_text="Machine and process.", max_length=120)),
                ("state", models.CharField(max_length=20)),
                ("health", models.JSONField(help_text="chatbots.health.Health, and the memory it takes.")),
                ("seen_at", models.DateTimeField()),
                (
                    "bot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="copies", to="bots.bot"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "bot copies",
                "constraints": [
                    models.UniqueConstraint(fields=("bot", "channel"), name="bot_copy_once_per_channel")
                ],
            },
        ),
        migrations.CreateModel(
            name="BotRevision",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("configuration", models.JSONField(default=dict)),
                ("made_at", models.DateTimeField(auto_now_add=True)),
                (
                    "bot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="revisions", to="bots.bot"
                    ),
                ),
                (
                    "made_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("bot", "-number"),
                "constraints": [models.UniqueConstraint(fields=("bot", "number"), name="bot_revision_once")],
            },
        ),
    ]
