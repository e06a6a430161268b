import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import crowd.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("studies", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Worker",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "pseudonym",
                    models.CharField(
                        default=crowd.models.pseudonym, editable=False, max_length=20, unique=True
                    ),
                ),
                (
                    "panel",
                    models.CharField(
                        blank=True, help_text="Parameter by which a panel named the worker.", max_length=40
                    ),
                ),
                ("panel_id", models.CharField(blank=True, max_length=120)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("panel_id", ""), _negated=True),
                        fields=("panel", "panel_id"),
                        name="worker_once_per_panel_id",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Participation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("consented_at", models.DateTimeField(auto_now_add=True)),
                (
                    "resume_code",
                    models.CharField(
                        default=crowd.models.resume_code, editable=False, max_length=20, unique=True
                    ),
                ),
                (
                    "completion_code",
                    models.CharField(
                        default=crowd.models.completion_code, editable=False, max_length=20, unique=True
                    ),
                ),
                (
                    "address",
                    models.CharField(
                        blank=True,
                        editable=False,
                        help_text="Keyed hash of the network address from which they agreed, another in every study: it tells who came from the same one, and nothing else. Empty: not known.",
                        max_length=32,
                    ),
                ),
                (
                    "signs",
                    models.TextField(
                        blank=True,
                        editable=False,
                        help_text="Of carelessness or fraud, as the newest report found them; for people to judge.",
                    ),
                ),
                (
                    "excluded_reason",
                    models.CharField(
                        blank=True,
                        help_text="Why the worker is excluded from one of the report's two analyses. Empty: they are not.",
                        max_length=500,
                    ),
                ),
                ("excluded_at", models.DateTimeField(blank=True, null=True)),
                (
                    "consent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="studies.consentversion"
                    ),
                ),
                (
                    "excluded_by",
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
                        related_name="participations",
                        to="studies.study",
                    ),
                ),
                (
                    "worker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="participations",
                        to="crowd.worker",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Practice",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("question_set", models.CharField(max_length=60)),
                ("passed_at", models.DateTimeField()),
                (
                    "worker",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="practices",
                        to="crowd.worker",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("worker", "question_set"), name="practice_once_per_question_set"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Assignment",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("assigned_at", models.DateTimeField()),
                (
                    "active_at",
                    models.DateTimeField(help_text="When the worker was last seen at work, to the minute."),
                ),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("complete", "Complete"),
                            ("bot_failed", "Ended because the bot could not answer"),
                        ],
                        max_length=20,
                    ),
                ),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "study_bot",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignments",
                        to="studies.studybot",
                    ),
                ),
                (
                    "participation",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="assignment",
                        to="crowd.participation",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["study_bot", "outcome", "active_at"], name="assignment_pool")
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ended_at", None), ("outcome", "")),
                            models.Q(models.Q(("outcome", ""), _negated=True), ("ended_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="assignment_ended_with_outcome",
                    )
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="participation",
            constraint=models.UniqueConstraint(fields=("worker", "study"), name="worker_once_per_study"),
        ),
        migrations.AddConstraint(
            model_name="participation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("excluded_at", None), ("excluded_reason", "")),
                    models.Q(
                        ("excluded_at__isnull", False), models.Q(("excluded_reason", ""), _negated=True)
                    ),
                    _connector="OR",
                ),
                name="excluded_for_a_reason",
            ),
        ),
    ]
