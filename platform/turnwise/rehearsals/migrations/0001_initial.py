import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("studies", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Rehearsal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "findings",
                    models.JSONField(
                        help_text="Of each a sentence, and whether it holds; null if that cannot be told."
                    ),
                ),
                ("holds", models.BooleanField(help_text="Whether all of them hold.")),
                ("verdict", models.TextField(help_text="What came of it, in a sentence.")),
                (
                    "agreement",
                    models.TextField(
                        blank=True, help_text="Why nothing is said about alpha; empty if it is."
                    ),
                ),
                ("finished_at", models.DateTimeField(auto_now_add=True)),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="outcome",
                        to="studies.study",
                    ),
                ),
            ],
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
                ("workers", models.PositiveSmallIntegerField(help_text="Simulated ones.")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Waiting to start"),
                            ("running", "Under way"),
                            ("done", "Done"),
                            ("failed", "Broke off"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("done", models.PositiveSmallIntegerField(default=0, help_text="Workers who are through.")),
                ("said", models.TextField(blank=True, help_text="What it said last.")),
                ("reason", models.TextField(blank=True, help_text="Why it broke off.")),
                ("started_at", models.DateTimeField()),
                ("told_at", models.DateTimeField(help_text="When it said something last.")),
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
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="attempt",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "failed"), models.Q(("reason", ""), _negated=True)),
                            models.Q(models.Q(("state", "failed"), _negated=True), ("reason", "")),
                            _connector="OR",
                        ),
                        name="attempt_failed_for_a_reason",
                    )
                ],
            },
        ),
    ]
