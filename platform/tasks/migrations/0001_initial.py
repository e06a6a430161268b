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
        migrations.CreateModel(
            name="TwoPeoplePlan",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "conversations",
                    models.PositiveIntegerField(
                        default=50,
                        help_text="Finished ones; each needs two people.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(100000),
                        ],
                        verbose_name="conversations of two people",
                    ),
                ),
                (
                    "wait_minutes",
                    models.PositiveSmallIntegerField(
                        default=5,
                        help_text="For another person. People are told, and see how long they have waited.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(60),
                        ],
                        verbose_name="longest wait in minutes",
                    ),
                ),
                (
                    "alone",
                    models.CharField(
                        choices=[
                            ("leave", "They leave, and are paid for the time they waited"),
                            ("bot", "They talk with a chatbot of the study instead"),
                        ],
                        default="leave",
                        max_length=10,
                        verbose_name="if nobody comes by then",
                    ),
                ),
                (
                    "disclosed",
                    models.BooleanField(
                        default=True,
                        help_text="Both know that they talk with a person, and see whether the other one is typing. Otherwise they are told that their partner may be a person or a chatbot; say so in the consent text, too.",
                        verbose_name="Tell people whom they talk with",
                    ),
                ),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="two_people",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("conversations__gte", 1), ("wait_minutes__gte", 1)),
                        name="two_people_plan_wants_something",
                    )
                ],
            },
        ),
    ]
