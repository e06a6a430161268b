import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("dialogues", "0001_initial"),
        ("studies", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Report",
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
                (
                    "results_version",
                    models.PositiveBigIntegerField(help_text="The study's results_version that it covers."),
                ),
                (
                    "judgments",
                    models.PositiveIntegerField(
                        default=0, help_text="Items judged, of a judging study, when its labels were read."
                    ),
                ),
                ("requested_at", models.DateTimeField()),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                (
                    "attempts",
                    models.PositiveSmallIntegerField(
                        default=0, help_text="How often its computation was begun."
                    ),
                ),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("result", models.JSONField(blank=True, null=True)),
                ("reason", models.TextField(blank=True, help_text="Why it failed.")),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="reports",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "ordering": ("-pk",),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "ready"), _negated=True),
                            ("result__isnull", False),
                            _connector="OR",
                        ),
                        name="report_ready_has_result",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "failed"), _negated=True),
                            models.Q(("reason", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="report_failed_has_reason",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ("queued", "running"))),
                        fields=("study",),
                        name="one_report_at_work_per_study",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Chart",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=20)),
                ("svg", models.TextField(help_text="Themed by the page that holds it.")),
                ("narrow_svg", models.TextField(help_text="The same, drawn for a phone.")),
                (
                    "report",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="charts",
                        to="reports.report",
                    ),
                ),
            ],
            options={
                "ordering": ("pk",),
                "constraints": [
                    models.UniqueConstraint(fields=("report", "name"), name="chart_once_per_report")
                ],
            },
        ),
        migrations.CreateModel(
            name="MeasuredTalk",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("by", models.JSONField(help_text="By metric, its encoder; empty if it needs none.")),
                (
                    "values",
                    models.JSONField(
                        help_text="By metric, a number for each reply; null where there is none."
                    ),
                ),
                (
                    "dialogue",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="measured",
                        to="dialogues.dialogue",
                    ),
                ),
            ],
        ),
    ]
