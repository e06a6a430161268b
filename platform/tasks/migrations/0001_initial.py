import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("contexts", "0001_initial"),
        ("studies", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="WritingPlan",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "responses_per_context",
                    models.PositiveSmallIntegerField(
                        default=1,
                        help_text="Each by another worker.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(20),
                        ],
                    ),
                ),
                (
                    "batch_size",
                    models.PositiveSmallIntegerField(
                        default=10,
                        help_text="After so many the worker is done and gets the completion code.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(200),
                        ],
                        verbose_name="responses per worker",
                    ),
                ),
                (
                    "context_version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="writing_plans",
                        to="contexts.contextsetversion",
                        verbose_name="contexts",
                    ),
                ),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="writing",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("batch_size__gte", 1), ("responses_per_context__gte", 1)),
                        name="writing_plan_wants_something",
                    )
                ],
            },
        ),
    ]
